import { describe, expect, it } from 'vitest';
import type { Partition } from '../../../lib/store/partition.js';
import type { MessageRef } from '../../../lib/messages/message-ref.js';
import { partitionOf } from '../../../lib/messages/partitioner.js';
import { toStoredId } from '../../../lib/messages/stored-id.js';
import { findMessage } from '../../../lib/producer/find-message.js';

const PARTITIONS = 4;
const HOME = partitionOf('a', PARTITIONS);

/** Keys by the partition that they belong to. */
const KEYS = Array.from({ length: PARTITIONS }, (_, index) =>
  ['k0', 'k1', 'k2', 'k3', 'k4', 'k5', 'k6', 'k7', 'k8', 'k9'].filter((key) => partitionOf(key, PARTITIONS) === index),
);

const placeOf = (key: string): string => `${partitionOf(key, PARTITIONS)} ${key === 'a' ? 'a' : `a/${key}`}`;

/** Looks for a message with the id 'a', of which there is one with each of the keys. */
async function find(ref: MessageRef, { keys, meant = keys }: { keys: string[]; meant?: string[] }) {
  const looked: string[] = [];
  const located: number[] = [];
  const found = await findMessage(
    { topic: 'orders', partitions: PARTITIONS, ref },
    async ({ index }: Partition, id) => {
      located.push(index);
      return keys
        .filter((key) => key !== id && partitionOf(key, PARTITIONS) === index)
        .map((key) => toStoredId(id, key));
    },
    async ({ topic, index }, storedId) => {
      const place = `${index} ${storedId.replace('\0', '/')}`;
      looked.push(place);
      return meant.map(placeOf).includes(place) ? `${topic} ${place}` : undefined;
    },
  );
  return { found, looked, located: located.toSorted((a, b) => a - b) };
}

describe('findMessage', () => {
  it('goes to the partition of the key, and to no other', async () => {
    const key = KEYS[(HOME + 1) % PARTITIONS]?.[0] ?? '';
    expect(await find({ id: 'a', key }, { keys: [key] })).toEqual({
      found: `orders ${placeOf(key)}`,
      looked: [placeOf(key)],
      located: [],
    });
    expect(await find({ id: 'a', key }, { keys: ['a'] })).toEqual({
      found: undefined,
      looked: [placeOf(key)],
      located: [],
    });
  });

  it("goes to the id's own partition first", async () => {
    const key = KEYS[HOME]?.[0] ?? '';
    expect(await find('a', { keys: ['a', key] })).toEqual({
      found: `orders ${HOME} a`,
      looked: [`${HOME} a`],
      located: [],
    });
  });

  it('asks every partition for an id that has a key of its own', async () => {
    const key = KEYS[(HOME + 2) % PARTITIONS]?.[0] ?? '';
    expect(await find('a', { keys: [key] })).toEqual({
      found: `orders ${placeOf(key)}`,
      looked: [`${HOME} a`, placeOf(key)],
      located: [0, 1, 2, 3],
    });
  });

  it('tries the next place if the message is not there any more, or not one that is meant', async () => {
    const keys = KEYS.flatMap(([first = '', second = '']) => [first, second]);
    const last = KEYS[(HOME + 3) % PARTITIONS]?.[1] ?? '';
    const { found, looked } = await find('a', { keys, meant: [last] });
    expect(found).toBe(`orders ${placeOf(last)}`);
    expect(looked).toHaveLength(1 + keys.length);
  });

  it('answers undefined if no place has it', async () => {
    expect(await find('a', { keys: [] })).toEqual({ found: undefined, looked: [`${HOME} a`], located: [0, 1, 2, 3] });
  });
});
