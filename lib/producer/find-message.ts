import type { Partition } from '../store/partition.js';
import type { MessageRef } from '../messages/message-ref.js';
import { partitionOf } from '../messages/partitioner.js';
import { toStoredId } from '../messages/stored-id.js';

export interface SoughtMessage {
  readonly topic: string;
  /** How many the topic has. */
  readonly partitions: number;
  readonly ref: MessageRef;
}

/**
 * Finds the message that callers mean, whatever its state. Its key tells its partition. An id without a key means
 * the message that has no key of its own, in the id's partition; if that is not there, those that have this id and a key
 * are tried one after another, from all partitions.
 *
 * @param locate as `Broker.locate`
 * @param look looks at one place; `undefined`: the message is not there, or is not one that is meant
 * @returns what the first successful look has answered
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
