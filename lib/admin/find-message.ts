import type { Broker, Partition } from '../broker/broker.interface.js';
import { partitionOf } from '../messages/partitioner.js';
import type { PayloadSerializer } from '../messages/serializer.js';
import { toStoredId } from '../messages/stored-id.js';
import { locateById } from '../topics/locate-by-id.js';
import { toDetails } from './message-details.js';
import type { MessageDetails } from './topic-stats.interface.js';

export type SearchedStore = Pick<Broker, 'get' | 'locate' | 'configOf'>;

/** Finds a message by its id; without its key, in the id's own partition first, then in the others. */
export async function findMessage(
  store: SearchedStore,
  topic: string,
  id: string | { id: string; key: string },
  serializer: PayloadSerializer | undefined,
): Promise<MessageDetails | undefined> {
  const partitions = (await store.configOf(topic))?.partitions;
  if (partitions === undefined) return undefined;
  const look = async (partition: Partition, storedId: string): Promise<MessageDetails | undefined> => {
    const stored = await store.get(partition, storedId);
    return stored && toDetails(partition, stored, serializer);
  };
  if (typeof id === 'object') {
    return look({ topic, index: partitionOf(id.key, partitions) }, toStoredId(id.id, id.key));
  }
  const own = await look({ topic, index: partitionOf(id, partitions) }, toStoredId(id));
  if (own) return own;
  const [found] = await locateById(store, topic, id, partitions);
  return found && look(found.partition, found.storedId);
}
