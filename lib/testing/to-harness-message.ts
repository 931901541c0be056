import type { Partition, StoredMessage } from '../broker/broker.interface.js';
import { decodeEnvelope } from '../messages/envelope.js';
import type { Failure } from '../messages/failure.js';
import { readablePayload } from '../messages/readable-part.js';
import type { PayloadSerializer } from '../messages/serializer.js';
import { fromStoredId } from '../messages/stored-id.js';
import type {
  HarnessDeadLetter,
  HarnessMessage,
  RecordedMessage,
  WaitingMessage,
} from './harness-messages.interface.js';
import type { Published } from './published-messages.js';

/** A message and where it is stored. */
export interface Placed {
  readonly partition: Partition;
  readonly stored: StoredMessage;
}

export function toRecorded<T>(
  { partition, storedId, envelope, dueAt }: Published,
  serializer: PayloadSerializer | undefined,
): RecordedMessage<T> {
  const message = describeMessage<T>(partition, { storedId, envelope }, serializer);
  const delay = Math.max(0, dueAt - message.publishedAt.getTime());
  return { ...message, dueAt: new Date(dueAt), delay };
}

export function toWaiting<T>(
  { partition, stored }: Placed,
  serializer: PayloadSerializer | undefined,
): WaitingMessage<T> {
  const { at, attempts, failure } = stored;
  return { ...describeMessage<T>(partition, stored, serializer), dueAt: new Date(at), attempts, failure };
}

export function toDeadLetter<T>(
  { partition, stored }: Placed,
  serializer: PayloadSerializer | undefined,
): HarnessDeadLetter<T> {
  const { at, attempts, failure } = stored;
  const message = describeMessage<T>(partition, stored, serializer);
  return { ...message, diedAt: new Date(at), attempts, failure: failure as Failure };
}

function describeMessage<T>(
  { topic, index }: Partition,
  { storedId, envelope }: Pick<StoredMessage, 'storedId' | 'envelope'>,
  serializer: PayloadSerializer | undefined,
): Omit<HarnessMessage<T>, 'dueAt'> {
  const decoded = decodeEnvelope(envelope);
  const { headers, publishedAt, attempts, backoff, timeout, expireAfter } = decoded;
  return {
    ...fromStoredId(storedId),
    topic,
    partition: index,
    payload: readablePayload(topic, serializer, decoded) as T,
    headers,
    publishedAt: new Date(publishedAt),
    settings: { attempts, backoff, timeout, expireAfter },
  };
}
