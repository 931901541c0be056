import type { Partition, StoredMessage } from '../broker/broker.interface.js';
import { toDate } from '../time/date.js';
import { readablePart } from '../messages/readable-part.js';
import type { PayloadSerializer } from '../messages/serializer.js';
import { fromStoredId } from '../messages/stored-id.js';
import type { MessageDetails } from './topic-stats.interface.js';

export function toDetails(
  { topic, index }: Partition,
  stored: StoredMessage,
  serializer: PayloadSerializer | undefined,
): MessageDetails {
  const { storedId, envelope, state, at, deliveries, attempts, failure, history } = stored;
  const { payload, headers } = readablePart(topic, serializer, envelope);
  const common = {
    topic,
    partition: index,
    state,
    at: toDate(at),
    deliveries,
    attempts,
    failure,
    history,
    raw: envelope,
  };
  return { ...fromStoredId(storedId), ...common, payload, headers };
}
