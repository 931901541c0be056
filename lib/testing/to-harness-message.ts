import type { Partition, StoredMessage } from '../broker/broker.interface.js';
import { decodeEnvelope } from '../message/envelope.js';
import type { Failure } from '../message/failure.js';
import { fromStoredId } from '../message/stored-id.js';
import type { DeadLetter, HarnessMessage, RecordedMessage, WaitingMessage } from './harness-messages.interface.js';
import type { Published } from './published-messages.js';

/** A message and where it is stored. */
export interface Placed {
  readonly partition: Partition;
  readonly stored: StoredMessage;
}

export function toRecorded<T>({ partition, storedId, envelope, dueAt }: Published): RecordedMessage<T> {
  const message = describeMessage<T>(partition, storedId, envelope);
  const delay = Math.max(0, dueAt - message.publishedAt.getTime());
  return { ...message, dueAt: new Date(dueAt), delay };
}

export function toWaiting<T>({ partition, stored }: Placed): WaitingMessage<T> {
  const { storedId, envelope, at, attempts, failure } = stored;
  return { ...describeMessage<T>(partition, storedId, envelope), dueAt: new Date(at), attempts, failure };
}

export function toDeadLetter<T>({ partition, stored }: Placed): DeadLetter<T> {
  const { storedId, envelope, at, attempts, failure } = stored;
  const message = describeMessage<T>(partition, storedId, envelope);
  return { ...message, diedAt: new Date(at), attempts, failure: failure as Failure };
}

function describeMessage<T>(
  { topic, index }: Partition,
  storedId: string,
  envelope: string,
): Omit<HarnessMessage<T>, 'dueAt'> {
  const { payload, headers, publishedAt, attempts, backoff, timeout, expireAfter } = decodeEnvelope(envelope);
  return {
    ...fromStoredId(storedId),
    topic,
    partition: index,
    payload: payload as T,
    headers,
    publishedAt: new Date(publishedAt),
    settings: { attempts, backoff, timeout, expireAfter },
  };
}
