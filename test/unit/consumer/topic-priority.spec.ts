import { describe, expect, it } from 'vitest';
import { WorkerGroup } from '../../../lib/consumer/worker-group.js';
import { WorkerPool } from '../../../lib/consumer/worker-pool.js';
import { SeededRandom } from '../../support/random.js';
import { TestClaimant, turns } from '../../support/units/test-claimant.js';

describe('a WorkerPool with claimants of several topics of a handler', () => {
  it('holds a later topic back until the claim of an earlier one is answered', async () => {
    const pool = new WorkerPool(10);
    const group = new WorkerGroup(10);
    const [earlier, later] = [new TestClaimant(group, 2, 0), new TestClaimant(group, 5, 1)];
    pool.request(earlier);
    pool.request(later);
    await turns();
    expect([earlier.grants, later.grants]).toEqual([[2], []]);

    pool.withdraw(earlier);
    await turns();
    expect(later.grants).toEqual([5]);
  });

  it('does not hold a later topic back if no earlier one wants anything', () => {
    const pool = new WorkerPool(10);
    const group = new WorkerGroup(10);
    const [earlier, later] = [new TestClaimant(group, 2, 0), new TestClaimant(group, 5, 1)];
    pool.request(earlier);
    pool.withdraw(earlier);
    pool.request(later);

    expect(later.grants).toEqual([5]);
  });

  it('waits for every claimant of the earlier topics', async () => {
    const pool = new WorkerPool(100);
    const group = new WorkerGroup(100);
    const earlier = [0, 0, 1].map((priority) => new TestClaimant(group, 1, priority));
    const last = new TestClaimant(group, 1, 2);
    for (const claimant of [...earlier, last]) pool.request(claimant);
    // The second topic waits for the first, too.
    expect(earlier.map(({ granted }) => granted)).toEqual([1, 1, 0]);

    for (const [i, claimant] of earlier.entries()) {
      expect([i, last.grants]).toEqual([i, []]);
      pool.withdraw(claimant);
      await turns();
    }
    expect(earlier.map(({ granted }) => granted)).toEqual([1, 1, 1]);
    expect(last.grants).toEqual([1]);
  });

  it('grants to the earlier topic first, even if the later one has waited longer for a slot', async () => {
    const pool = new WorkerPool(1);
    const group = new WorkerGroup(1);
    const busy = new TestClaimant(group, 1, 1);
    const [later, earlier] = [new TestClaimant(group, 1, 1), new TestClaimant(group, 1, 0)];
    for (const claimant of [busy, later, earlier]) pool.request(claimant);

    pool.release(group, 1);
    await turns();
    expect([later.grants, earlier.grants]).toEqual([[], [1]]);

    pool.withdraw(earlier);
    pool.release(group, 1);
    await turns();
    expect([later.grants, earlier.grants]).toEqual([[1], [1]]);
  });

  it('continues with the earlier topic if it asks again as soon as it is answered', async () => {
    const pool = new WorkerPool(10);
    const group = new WorkerGroup(10);
    const [earlier, later] = [new TestClaimant(group, 2, 0), new TestClaimant(group, 5, 1)];
    pool.request(earlier);
    pool.request(later);
    for (let claim = 0; claim < 5; claim++) {
      pool.release(group, 2);
      pool.request(earlier);
      await turns();
    }

    expect(earlier.grants).toEqual([2, 2, 2, 2, 2, 2]);
    expect(later.grants).toEqual([]);
  });

  it('holds a later topic back again if an earlier one asks between the release of a slot and its grant', async () => {
    const pool = new WorkerPool(1);
    const group = new WorkerGroup(1);
    const [busy, later, earlier] = [1, 1, 0].map((priority) => new TestClaimant(group, 1, priority)) as [
      TestClaimant,
      TestClaimant,
      TestClaimant,
    ];
    pool.request(busy);
    pool.request(later);
    pool.release(group, 1);
    pool.request(earlier);
    await turns();

    expect([later.grants, earlier.grants]).toEqual([[], [1]]);
  });

  it('does not affect other handlers', () => {
    const pool = new WorkerPool(10);
    const [group, other] = [new WorkerGroup(1), new WorkerGroup(10)];
    const [busy, earlier, later] = [0, 0, 1].map((priority) => new TestClaimant(group, 1, priority)) as [
      TestClaimant,
      TestClaimant,
      TestClaimant,
    ];
    const foreign = [0, 1].map((priority) => new TestClaimant(other, 2, priority)) as [TestClaimant, TestClaimant];
    for (const claimant of [busy, earlier, later, foreign[1]]) pool.request(claimant);

    expect([earlier.grants, later.grants, foreign[1].grants]).toEqual([[], [], [2]]);
    pool.request(foreign[0]);
    expect(foreign[0].grants).toEqual([2]);
  });

  it('withdraws the request of a topic that is held back', async () => {
    const pool = new WorkerPool(10);
    const group = new WorkerGroup(10);
    const [earlier, later] = [new TestClaimant(group, 1, 0), new TestClaimant(group, 1, 1)];
    pool.request(earlier);
    pool.request(later);
    pool.withdraw(later);
    pool.withdraw(earlier);
    await turns();

    expect(later.grants).toEqual([]);
  });

  it('never grants out of order, and forgets nobody', async () => {
    const random = new SeededRandom();
    console.info(`worker pool, priorities: seed ${random.seed}`);
    const pool = new WorkerPool(5);
    const groups = [new WorkerGroup(1), new WorkerGroup(3), new WorkerGroup(100)];
    const hungry = new Set<TestClaimant>();
    const claiming = new Map<TestClaimant, number>();
    const outOfOrder: TestClaimant[] = [];
    const claimants = groups.flatMap((group) =>
      [0, 0, 1, 1, 2].map((priority) => {
        const claimant = new TestClaimant(group, random.integer(1, 4), priority);
        claimant.onGrant = (slots) => {
          const earlier = [...hungry].some((other) => other.group === group && other.priority < priority);
          if (earlier) outOfOrder.push(claimant);
          claiming.set(claimant, slots);
        };
        return claimant;
      }),
    );
    const answer = (claimant: TestClaimant): void => {
      pool.release(claimant.group, claiming.get(claimant) ?? 0);
      claiming.delete(claimant);
      hungry.delete(claimant);
      pool.withdraw(claimant);
    };
    for (let step = 0; step < 3000; step++) {
      const claimant = claimants[random.integer(0, claimants.length - 1)] as TestClaimant;
      const chance = random.next();
      if (claiming.has(claimant)) answer(claimant);
      else if (chance < 0.7) {
        hungry.add(claimant);
        pool.request(claimant);
      } else {
        hungry.delete(claimant);
        pool.withdraw(claimant);
      }
      if (chance < 0.3) await turns(1);
    }
    // Nobody asks for more, so all that wait have to get their turn.
    for (let round = 0; hungry.size > 0 && round < 100; round++) {
      for (const claimant of claiming.keys()) answer(claimant);
      await turns();
    }

    expect([...hungry]).toEqual([]);
    expect(outOfOrder).toEqual([]);
    expect(pool.used).toBe(0);
    for (const { granted } of claimants) expect(granted).toBeGreaterThan(0);
  });
});
