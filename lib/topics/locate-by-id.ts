import type { Broker, Partition } from '../broker/broker.interface.js';
import { partitionOf } from '../messages/partitioner.js';

/** Where a message is stored. */
export interface Located {
  readonly partition: Partition;
  readonly storedId: string;
}

/** Looks in every partition for messages that have this id and a key of their own; the id's own partition comes first. */
export async function locateById(
  store: Pick<Broker, 'locate'>,
  topic: string,
  id: string,
  partitions: number,
): Promise<Located[]> {
  const home = partitionOf(id, partitions);
  const places = Array.from({ length: partitions }, (_, i): Partition => ({ topic, index: (home + i) % partitions }));
  const found = await Promise.all(
    places.map(async (partition) => {
      const storedIds = await store.locate(partition, id);
      return storedIds.map((storedId): Located => ({ partition, storedId }));
    }),
  );
  return found.flat();
}
