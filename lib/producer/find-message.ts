import type { Partition } from '../broker/broker.interface.js';
import type { MessageName } from '../messages/assert-id.js';
import { partitionOf } from '../messages/partitioner.js';
import { toStoredId } from '../messages/stored-id.js';

export interface SoughtMessage {
  readonly topic: string;
  /** How many the topic has. */
  readonly partitions: number;
  readonly name: MessageName;
}

/**
 * Finds a message by the name that callers know, whatever its state. Its key tells its partition. An id without a key means
 * the message that has no key of its own, in the id's partition; if that is not there, those that have this id and a key
 * are tried one after another, from all partitions.
 *
 * @param locate as `Broker.locate`
 * @param look looks at one place; `undefined`: the message is not there, or is not one that is meant
 * @returns what the first successful look has answered
 */
export async function findMessage<R>(
  { topic, partitions, name }: SoughtMessage,
  locate: (partition: Partition, id: string) => Promise<readonly string[]>,
  look: (partition: Partition, storedId: string) => Promise<R | undefined>,
): Promise<R | undefined> {
  if (typeof name === 'object') {
    return look({ topic, index: partitionOf(name.key, partitions) }, toStoredId(name.id, name.key));
  }
  const home = partitionOf(name, partitions);
  const own = await look({ topic, index: home }, toStoredId(name));
  if (own !== undefined) return own;
  const places = await Promise.all(
    Array.from({ length: partitions }, async (_, i) => {
      const partition = { topic, index: (home + i) % partitions };
      return { partition, storedIds: await locate(partition, name) };
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
