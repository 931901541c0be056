import type { Partition, StoredMessage } from '../broker/broker.interface.js';
import { SerializationError } from '../errors/serialization.error.js';
import { type Envelope, decodeEnvelope } from '../message/envelope.js';
import { fromStoredId } from '../message/stored-id.js';
import type { MessageDetails } from './topic-stats.interface.js';

export function toDetails({ topic, index }: Partition, stored: StoredMessage): MessageDetails {
  const { storedId, envelope, state, at, deliveries, attempts, failure } = stored;
  const { payload, headers } = readable(envelope);
  const common = { topic, partition: index, state, at: new Date(at), deliveries, attempts, failure, raw: envelope };
  return { ...fromStoredId(storedId), ...common, payload, headers };
}

function readable(envelope: string): Pick<Envelope, 'payload' | 'headers'> {
  try {
    return decodeEnvelope(envelope);
  } catch (error) {
    if (!(error instanceof SerializationError)) throw error;
    return { payload: undefined, headers: {} };
  }
}
