import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { assignPartitions } from '../../../lib/fleet/assign-partitions.js';
import { SeededRandom } from '../../support/random.js';

const ROUNDS = 300;

const random = new SeededRandom();

/** Names as processes have them; those of one host differ in little. */
function fleet(size: number): string[] {
  return Array.from({ length: size }, (_, i) => `host-${random.integer(0, 3)}:${i + 1}:${randomUUID()}`);
}

/** How many partitions each process owns. */
function shares(owners: readonly string[], sessions: readonly string[]): Map<string, number> {
  const counts = new Map(sessions.map((id) => [id, 0]));
  for (const owner of owners) counts.set(owner, (counts.get(owner) ?? NaN) + 1);
  return counts;
}

function spread(counts: Iterable<number>): number {
  const all = [...counts];
  return Math.max(...all) - Math.min(...all);
}

function moved(before: readonly string[], after: readonly string[]): number {
  return before.filter((owner, index) => owner !== after[index]).length;
}

/** How long it takes to share a thousand topics, in milliseconds; the best of five tries. */
function timeOf(sessions: readonly string[]): number {
  const times = Array.from({ length: 5 }, () => {
    const begunAt = performance.now();
    for (let i = 0; i < 1000; i++) assignPartitions(`orders.${i}`, 8, sessions);
    return performance.now() - begunAt;
  });
  return Math.min(...times);
}

describe('assignPartitions', () => {
  it('gives everything to the only process', () => {
    expect(assignPartitions('jobs', 4, ['a'])).toEqual(['a', 'a', 'a', 'a']);
  });

  it('gives each partition one owner, and shares that differ by one at most', () => {
    for (let round = 0; round < ROUNDS; round++) {
      const sessions = fleet(random.integer(1, 40));
      const partitions = random.integer(1, 130);
      const owners = assignPartitions(`topic-${round}`, partitions, sessions);

      expect(owners).toHaveLength(partitions);
      expect(owners.filter((owner) => !sessions.includes(owner))).toEqual([]);
      expect(spread(shares(owners, sessions).values())).toBeLessThanOrEqual(1);
    }
  });

  it('is the same for any order of the processes, and does not change what it is given', () => {
    for (let round = 0; round < ROUNDS; round++) {
      const sessions = Object.freeze(fleet(random.integer(1, 15)));
      const partitions = random.integer(1, 60);

      const owners = assignPartitions('jobs', partitions, sessions);
      expect(assignPartitions('jobs', partitions, random.shuffled(sessions))).toEqual(owners);
    }
  });

  it('is the same in every version of this library that shares a topic', () => {
    expect(assignPartitions('jobs', 8, ['a', 'b', 'c'])).toEqual(['a', 'c', 'b', 'c', 'a', 'c', 'a', 'b']);
  });

  it('moves little if a process comes or goes: on average less than twice what has to', () => {
    // 1.4 times was measured.
    let joined = { moved: 0, least: 0 };
    let left = { moved: 0, least: 0 };
    for (let round = 0; round < ROUNDS; round++) {
      const size = random.integer(1, 20);
      const partitions = random.integer(size + 1, 128);
      const sessions = fleet(size + 1);
      const after = assignPartitions('jobs', partitions, sessions);
      const gone = sessions[0] as string;
      const before = assignPartitions('jobs', partitions, sessions.slice(1));
      const share = shares(after, sessions).get(gone) ?? NaN;
      joined = {
        moved: joined.moved + moved(before, after),
        least: joined.least + Math.floor(partitions / (size + 1)),
      };
      left = { moved: left.moved + moved(after, before), least: left.least + share };
    }
    expect(joined.moved).toBeLessThan(2 * joined.least);
    expect(left.moved).toBeLessThan(2 * left.least);
  });

  it('gives every process its part of many topics, though each has fewer partitions than there are processes', () => {
    const sessions = fleet(40);
    const owners = Array.from({ length: 500 }, (_, i) => assignPartitions(`orders.${i}`, 8, sessions)).flat();
    const counts = [...shares(owners, sessions).values()];

    // 100 each on average; 83 to 110 were measured.
    expect(Math.min(...counts)).toBeGreaterThan(50);
    expect(Math.max(...counts)).toBeLessThan(200);
  });

  it('takes time in proportion to the number of processes, for a thousand topics', () => {
    timeOf(fleet(10));
    const [few, many] = [timeOf(fleet(10)), timeOf(fleet(100))];

    // In proportion it is 10 times as much; with the square of the number it would be 100 times.
    expect(many).toBeLessThan(50 * few);
  });
});
