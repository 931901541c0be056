import { describe, expect, it } from 'vitest';
import { WorkerGroup } from '../../../lib/consumer/worker-group.js';
import { WorkerPool } from '../../../lib/consumer/worker-pool.js';
import { SeededRandom } from '../../support/random.js';
import { TestClaimant, turns } from '../../support/units/test-claimant.js';

describe('WorkerPool', () => {
  it('grants at once what is requested, if it is free', () => {
    const pool = new WorkerPool(10);
    const group = new WorkerGroup(10);
    const claimant = new TestClaimant(group, 3);
    pool.request(claimant);

    expect(claimant.grants).toEqual([3]);
    expect([pool.used, group.used, group.free]).toEqual([3, 3, 7]);
  });

  it('grants the rest, and serves the next ones as slots come back, first come, first served', async () => {
    const pool = new WorkerPool(5);
    const group = new WorkerGroup(100);
    const [a, b, c] = [new TestClaimant(group, 3), new TestClaimant(group, 4), new TestClaimant(group, 2)];
    for (const claimant of [a, b, c]) pool.request(claimant);
    expect([a.grants, b.grants, c.grants]).toEqual([[3], [2], []]);

    pool.release(group, 1);
    await turns();
    expect([a.grants, b.grants, c.grants]).toEqual([[3], [2], [1]]);
    expect(pool.used).toBe(5);
  });

  it('grants once to a claimant that asks twice', async () => {
    const pool = new WorkerPool(1);
    const group = new WorkerGroup(10);
    const [first, second] = [new TestClaimant(group), new TestClaimant(group)];
    pool.request(first);
    pool.request(second);
    pool.request(second);

    pool.release(group, 1);
    await turns();
    pool.release(group, 1);
    await turns();

    expect(second.grants).toEqual([1]);
  });

  it('grants slots that come back in one turn of the event loop together', async () => {
    const pool = new WorkerPool(10);
    const group = new WorkerGroup(10);
    const [busy, waiting] = [new TestClaimant(group, 10), new TestClaimant(group, 400)];
    pool.request(busy);
    pool.request(waiting);

    for (let i = 0; i < 8; i++) pool.release(group, 1);
    await turns();

    expect(waiting.grants).toEqual([8]);
  });

  it('never has more slots out than its limit', async () => {
    const random = new SeededRandom();
    console.info(`worker pool: seed ${random.seed}`);
    const pool = new WorkerPool(7);
    const groups = [new WorkerGroup(2), new WorkerGroup(4), new WorkerGroup(100)];
    const out: WorkerGroup[] = [];
    const claimants = groups.flatMap((group) =>
      [1, 3, 16].map((wanted) => {
        const claimant = new TestClaimant(group, wanted);
        claimant.onGrant = (slots) => {
          for (let i = 0; i < slots; i++) out.push(group);
        };
        return claimant;
      }),
    );
    for (let step = 0; step < 2000; step++) {
      pool.request(claimants[random.integer(0, claimants.length - 1)] as TestClaimant);
      const releases = random.integer(0, out.length);
      for (const group of out.splice(0, releases)) pool.release(group, 1);
      if (random.next() < 0.5) await turns(1);
      expect(out.length).toBeLessThanOrEqual(7);
      expect(pool.used).toBe(out.length);
      for (const group of groups) {
        expect(group.used).toBeLessThanOrEqual(group.limit);
        expect(group.used).toBe(out.filter((held) => held === group).length);
      }
    }
    for (const { granted } of claimants) expect(granted).toBeGreaterThan(0);
  });

  describe('between claimants that always want more', () => {
    it('is fair: each gets its turn', async () => {
      const pool = new WorkerPool(2);
      const group = new WorkerGroup(100);
      const claimants = Array.from({ length: 5 }, () => new TestClaimant(group, 400));
      for (const claimant of claimants) {
        claimant.onGrant = (slots) => {
          // It handles its messages and asks again.
          setImmediate(() => {
            for (let i = 0; i < slots; i++) pool.release(group, 1);
            pool.request(claimant);
          });
        };
        pool.request(claimant);
      }

      await turns(200);

      const turnsOf = claimants.map(({ grants }) => grants.length);
      expect(Math.min(...turnsOf)).toBeGreaterThan(5);
      expect(Math.max(...turnsOf) - Math.min(...turnsOf)).toBeLessThanOrEqual(2);
    });
  });

  describe('with groups', () => {
    it('keeps a group within its limit and gives the rest to others', async () => {
      const pool = new WorkerPool(10);
      const [narrow, wide] = [new WorkerGroup(2), new WorkerGroup(100)];
      const [a, b, c] = [new TestClaimant(narrow, 5), new TestClaimant(narrow, 5), new TestClaimant(wide, 5)];
      for (const claimant of [a, b, c]) pool.request(claimant);

      expect([a.grants, b.grants, c.grants]).toEqual([[2], [], [5]]);

      pool.release(narrow, 1);
      await turns();
      expect(b.grants).toEqual([1]);
    });

    it('a full group does not keep others waiting', async () => {
      const pool = new WorkerPool(2);
      const [narrow, wide] = [new WorkerGroup(1), new WorkerGroup(10)];
      const [a, b, c, d] = [narrow, wide, narrow, wide].map((group) => new TestClaimant(group)) as [
        TestClaimant,
        TestClaimant,
        TestClaimant,
        TestClaimant,
      ];
      for (const claimant of [a, b, c, d]) pool.request(claimant);
      expect([a.granted, b.granted, c.granted, d.granted]).toEqual([1, 1, 0, 0]);

      pool.release(wide, 1);
      await turns();
      expect([c.granted, d.granted]).toEqual([0, 1]);
      pool.release(narrow, 1);
      await turns();
      expect([c.granted, d.granted]).toEqual([1, 1]);
    });

    it('grants to two groups whose slots come back in the same turn of the event loop', async () => {
      const pool = new WorkerPool(10);
      const groups = [new WorkerGroup(1), new WorkerGroup(1)] as const;
      const busy = groups.map((group) => new TestClaimant(group));
      const waiting = groups.map((group) => new TestClaimant(group));
      for (const claimant of [...busy, ...waiting]) pool.request(claimant);
      expect(waiting.map(({ granted }) => granted)).toEqual([0, 0]);

      for (const group of groups) pool.release(group, 1);
      await turns();

      expect(waiting.map(({ granted }) => granted)).toEqual([1, 1]);
    });
  });

  describe('withdraw', () => {
    it('takes a request back that waits for the pool', async () => {
      const pool = new WorkerPool(1);
      const group = new WorkerGroup(10);
      const [busy, waiting] = [new TestClaimant(group), new TestClaimant(group)];
      pool.request(busy);
      pool.request(waiting);
      pool.withdraw(waiting);

      pool.release(group, 1);
      await turns();

      expect(waiting.grants).toEqual([]);
    });

    it('takes a request back that waits for its group', async () => {
      const pool = new WorkerPool(10);
      const group = new WorkerGroup(1);
      const [busy, waiting] = [new TestClaimant(group), new TestClaimant(group)];
      pool.request(busy);
      pool.request(waiting);
      pool.withdraw(waiting);

      pool.release(group, 1);
      await turns();

      expect(waiting.grants).toEqual([]);
    });

    it('takes a request back that was made twice while its group was full', async () => {
      const pool = new WorkerPool(10);
      const group = new WorkerGroup(1);
      const [busy, waiting] = [new TestClaimant(group), new TestClaimant(group)];
      pool.request(busy);
      pool.request(waiting);
      pool.request(waiting);
      pool.withdraw(waiting);

      pool.release(group, 1);
      await turns();

      expect(waiting.grants).toEqual([]);
    });

    it('takes a request back between the release of a slot and its grant', async () => {
      const pool = new WorkerPool(10);
      const group = new WorkerGroup(1);
      const [busy, waiting] = [new TestClaimant(group), new TestClaimant(group)];
      pool.request(busy);
      pool.request(waiting);
      pool.release(group, 1);
      pool.withdraw(waiting);
      await turns();

      expect(waiting.grants).toEqual([]);
    });

    it('does nothing for a claimant without a request, and keeps the rest', async () => {
      const pool = new WorkerPool(1);
      const group = new WorkerGroup(10);
      const [busy, waiting] = [new TestClaimant(group), new TestClaimant(group)];
      pool.request(busy);
      pool.request(waiting);
      pool.withdraw(new TestClaimant(group));
      pool.withdraw(busy);

      pool.release(group, 1);
      await turns();

      expect(waiting.grants).toEqual([1]);
    });
  });

  describe('idle', () => {
    it('resolves at once if nothing runs', async () => {
      await expect(new WorkerPool(1).idle()).resolves.toBeUndefined();
    });

    it('resolves when the last slot has come back, for all that wait', async () => {
      const pool = new WorkerPool(5);
      const group = new WorkerGroup(5);
      pool.request(new TestClaimant(group, 2));
      const idle: number[] = [];
      for (const i of [1, 2]) void pool.idle().then(() => idle.push(i));

      pool.release(group, 1);
      await turns();
      expect(idle).toEqual([]);
      pool.release(group, 1);
      await turns();
      expect(idle).toEqual([1, 2]);
    });
  });
});
