import type { Partition } from '../store/partition.js';
import type { MessageRef } from '../messages/message-ref.js';
import { partitionOf } from '../messages/partitioner.js';
import { toStoredId } from '../messages/stored-id.js';

export interface SoughtMessage {
  readonly topic: string;
  /** Number of partitions of the topic. */
  readonly partitions: number;
  readonly ref: MessageRef;
}

/**
 * Finds the message that a caller means, whatever its state. Its key determines its partition. An id without a key means the message that
 * has no key of its own, in the id's partition; if there is none, those with this id and a key are tried one after another, from all
 * partitions.
 *
 * @param locate works like `Broker.locate`
 * @param look checks one place; `undefined` if the message is not there, or not the one meant
 * @returns result of the first successful look
 */
export async function findMessage<R>(
  { topic, partitions, ref }: SoughtMessage,
  locate: (partition: Partition, id: string) => Promise<readonly string[]>,
  look: (partition: Partition, storedId: string) => Promise<R | undefined>,
): Promise<R | undefined> {
  if (typeof ref === 'object') {
    return look({ topic, index: partitionOf(ref.key, partitions) }, toStoredId(ref.id, ref.key));
  }
  const home = partitionOf(ref, partitions);
  const own = await look({ topic, index: home }, toStoredId(ref));
  if (own !== undefined) return own;
  const places = await Promise.all(
    Array.from({ length: partitions }, async (_, i) => {
      const partition = { topic, index: (home + i) % partitions };
      return { partition, storedIds: await locate(partition, ref) };
    }),
  );
  for (const { partition, storedIds } of places) {
    for (const storedId of storedIds) {
      const found = await look(partition, storedId);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}
