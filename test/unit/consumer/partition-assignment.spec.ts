import { describe, expect, it } from 'vitest';
import { type AssignableMember, assignPartitions } from '../../../lib/consumer/partition-assignment.js';
import { SeededRandom } from '../../support/random.js';

const ROUNDS = 400;

const random = new SeededRandom();
console.info(`partition assignment: seed ${random.seed}`);

function member(id: string, ...holdings: number[]): AssignableMember {
  return { id, holdings };
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i);
}

/** Members that hold what the assignment gives them. */
function holding(assignment: ReadonlyMap<string, readonly number[]>): AssignableMember[] {
  return [...assignment].map(([id, holdings]) => ({ id, holdings }));
}

function group(size: number): AssignableMember[] {
  return random.shuffled(upTo(size).map((i) => member(`member-${i}`)));
}

/** What is wrong with an assignment, if anything. */
function unbalance(
  assignment: ReadonlyMap<string, readonly number[]>,
  members: number,
  partitions: number,
): string | undefined {
  const assigned = [...assignment.values()].flat().toSorted((a, b) => a - b);
  const sizes = [...assignment.values()].map(({ length }) => length);
  if (assignment.size !== members) return `${assignment.size} members instead of ${members}`;
  if (assigned.join() !== upTo(partitions).join()) return `not every partition once: ${assigned.join()}`;
  if (Math.max(...sizes) - Math.min(...sizes) > 1) return `shares of ${sizes.join()}`;
  return undefined;
}

/** How many partitions have a new owner. */
function moved(before: readonly AssignableMember[], after: ReadonlyMap<string, readonly number[]>): number {
  const ownerBefore = new Map(before.flatMap(({ id, holdings }) => holdings.map((partition) => [partition, id])));
  const owners = [...after].flatMap(([id, partitions]) => partitions.map((partition) => [partition, id] as const));
  return owners.filter(([partition, id]) => ownerBefore.get(partition) !== id).length;
}

/** The fewest that have to move if no two members hold the same one: all that do not fit into the best shares. */
function fewestMoves(members: readonly AssignableMember[], partitions: number): number {
  const share = Math.floor(partitions / members.length);
  const larger = partitions % members.length;
  const sizes = members.map(({ holdings }) => holdings.length);
  const kept = sizes.reduce((sum, size) => sum + Math.min(size, share), 0);
  return partitions - kept - Math.min(larger, sizes.filter((size) => size > share).length);
}

describe('assignPartitions', () => {
  it('gives everything to the only member', () => {
    expect(assignPartitions([member('a')], 4)).toEqual(new Map([['a', [0, 1, 2, 3]]]));
  });

  it('gives nothing if there are no members', () => {
    expect(assignPartitions([], 4)).toEqual(new Map());
  });

  it('leaves members without partitions if there are more members than partitions', () => {
    const assignment = assignPartitions(group(10), 3);

    expect(unbalance(assignment, 10, 3)).toBeUndefined();
    expect([...assignment.values()].filter(({ length }) => length === 0)).toHaveLength(7);
  });

  it('leaves a balanced assignment as it is', () => {
    const members = [member('a', 4, 1), member('b', 0, 5), member('c', 2, 3)];

    expect(assignPartitions(members, 6)).toEqual(
      new Map([
        ['a', [1, 4]],
        ['b', [0, 5]],
        ['c', [2, 3]],
      ]),
    );
  });

  it('gives a new member its share from those that have most', () => {
    const assignment = assignPartitions([member('old', 0, 1, 2, 3), member('new')], 4);

    expect(assignment.get('old')).toEqual([0, 1]);
    expect(assignment.get('new')).toEqual([2, 3]);
  });

  it('distributes the partitions of a member that left', () => {
    const members = [member('a', 0, 1), member('b', 2, 3)];

    expect(assignPartitions(members, 6)).toEqual(
      new Map([
        ['a', [0, 1, 4]],
        ['b', [2, 3, 5]],
      ]),
    );
  });

  it('gives a partition that two members report to the first by id', () => {
    const assignment = assignPartitions([member('b', 0, 1), member('a', 1, 2)], 4);

    expect(assignment.get('a')).toEqual([1, 2]);
    expect(assignment.get('b')).toEqual([0, 3]);
  });

  it('is balanced and complete for any group and any number of partitions', () => {
    for (let round = 0; round < ROUNDS; round++) {
      const size = random.integer(1, 40);
      const partitions = random.integer(1, 130);
      const assignment = assignPartitions(group(size), partitions);
      expect(unbalance(assignment, size, partitions)).toBeUndefined();
    }
  });

  it('is balanced and complete whatever members report, even nonsense', () => {
    const NONSENSE = [-1, 0.5, NaN, Infinity, -Infinity, 1e9];
    for (let round = 0; round < ROUNDS; round++) {
      const size = random.integer(1, 12);
      const partitions = random.integer(1, 40);
      const members = group(size).map(({ id }) => ({
        id,
        holdings: Array.from({ length: random.integer(0, 20) }, () =>
          random.next() < 0.1 ? (NONSENSE[random.integer(0, 5)] as number) : random.integer(0, partitions + 5),
        ),
      }));
      expect(unbalance(assignPartitions(members, partitions), size, partitions)).toBeUndefined();
    }
  });

  it('is the same for any order of members and of their partitions', () => {
    for (let round = 0; round < ROUNDS; round++) {
      const partitions = random.integer(1, 60);
      const members = group(random.integer(1, 15)).map(({ id }) => ({
        id,
        holdings: upTo(partitions).filter(() => random.next() < 0.2),
      }));
      const shuffled = random
        .shuffled(members)
        .map(({ id, holdings }) => ({ id, holdings: random.shuffled(holdings) }));

      const [one, other] = [assignPartitions(members, partitions), assignPartitions(shuffled, partitions)];

      // `toEqual` ignores the order in which a map was filled.
      expect(one).toEqual(other);
    }
  });

  it('does not change its arguments', () => {
    const members = [member('b', 3, 1, 2), member('a', 0)];
    const before = structuredClone(members);
    for (const { holdings } of members) Object.freeze(holdings);
    Object.freeze(members);

    assignPartitions(members, 4);

    expect(members).toEqual(before);
  });

  it('moves no more than necessary when a member joins', () => {
    for (let round = 0; round < ROUNDS; round++) {
      const size = random.integer(1, 20);
      const partitions = random.integer(1, 100);
      const before = holding(assignPartitions(group(size), partitions));
      const members = random.shuffled([...before, member(`joins-${round}`)]);

      const after = assignPartitions(members, partitions);

      expect(unbalance(after, size + 1, partitions)).toBeUndefined();
      expect(moved(before, after)).toBe(fewestMoves(members, partitions));
      expect(moved(before, after)).toBe(Math.floor(partitions / (size + 1)));
    }
  });

  it('moves only the partitions of a member that leaves', () => {
    for (let round = 0; round < ROUNDS; round++) {
      const size = random.integer(2, 20);
      const partitions = random.integer(1, 100);
      const before = holding(assignPartitions(group(size), partitions));
      const gone = before[random.integer(0, size - 1)] as AssignableMember;
      const members = random.shuffled(before.filter(({ id }) => id !== gone.id));

      const after = assignPartitions(members, partitions);

      expect(unbalance(after, size - 1, partitions)).toBeUndefined();
      expect(moved(before, after)).toBe(gone.holdings.length);
    }
  });

  it('moves no more than necessary, however uneven the start', () => {
    for (let round = 0; round < ROUNDS; round++) {
      const partitions = random.integer(1, 80);
      const size = random.integer(1, 12);
      const members = upTo(size).map((i) => ({ id: `member-${i}`, holdings: [] as number[] }));
      for (const partition of upTo(partitions)) {
        // Nobody holds some of them; members with low numbers hold more than those with high ones.
        const holder = members[Math.floor(random.next() ** 2 * size * 1.3)];
        holder?.holdings.push(partition);
      }

      const after = assignPartitions(random.shuffled(members), partitions);

      expect(unbalance(after, size, partitions)).toBeUndefined();
      expect(moved(members, after)).toBe(fewestMoves(members, partitions));
    }
  });

  it('is stable: it does not change its own assignment', () => {
    for (let round = 0; round < ROUNDS; round++) {
      const partitions = random.integer(1, 60);
      const once = assignPartitions(group(random.integer(1, 15)), partitions);

      expect(moved(holding(once), assignPartitions(random.shuffled(holding(once)), partitions))).toBe(0);
    }
  });
});
