import { describe, expect, it } from 'vitest';
import { HandlerSlots, SlotPool } from '../../../../lib/consumer/admission/handler-slots.js';
import { SeededRandom } from '../../../support/random.js';
import { TestClaimant, turns } from '../../../support/units/test-claimant.js';

type Three = [TestClaimant, TestClaimant, TestClaimant];

describe('SlotPool', () => {
  it('grants at once what is wanted, where it is free', () => {
    const pool = new SlotPool(10);
    const group = new HandlerSlots(pool, 10);
    const claimant = new TestClaimant(group, 3);
    claimant.request();

    expect(claimant.grants).toEqual([3]);
    expect([pool.used, group.used, group.free]).toEqual([3, 3, 7]);
  });

  it('grants what is left, and to the next ones as slots come back, first come, first served', async () => {
    const pool = new SlotPool(5);
    const group = new HandlerSlots(pool, 100);
    const [a, b, c] = [new TestClaimant(group, 3), new TestClaimant(group, 4), new TestClaimant(group, 2)];
    for (const claimant of [a, b, c]) claimant.request();
    expect([a.grants, b.grants, c.grants]).toEqual([[3], [2], []]);

    group.release(1);
    await turns();
    expect([a.grants, b.grants, c.grants]).toEqual([[3], [2], [1]]);
    expect(pool.used).toBe(5);
  });

  it('grants one that goes ahead before those that have waited longer, and once', async () => {
    const group = new HandlerSlots(new SlotPool(1), 10);
    const [busy, waiting, ahead] = [1, 1, 1].map(() => new TestClaimant(group)) as Three;
    for (const claimant of [busy, waiting, ahead]) claimant.request();
    ahead.goesAhead = true;

    group.release(1);
    await turns();
    expect([waiting.grants, ahead.grants]).toEqual([[], [1]]);
    group.release(1);
    await turns();
    expect([waiting.grants, ahead.grants]).toEqual([[1], [1]]);
  });

  it('asks only once for a claimant that asks twice', async () => {
    const pool = new SlotPool(1);
    const group = new HandlerSlots(pool, 10);
    const [first, second] = [new TestClaimant(group), new TestClaimant(group)];
    first.request();
    second.request();
    second.request();

    group.release(1);
    await turns();
    group.release(1);
    await turns();

    expect(second.grants).toEqual([1]);
  });

  it('grants slots that come back in one turn of the event loop together', async () => {
    const group = new HandlerSlots(new SlotPool(20), 20);
    const [busy, busyToo, waiting] = [10, 10, 400].map((wanted) => new TestClaimant(group, wanted)) as Three;
    for (const claimant of [busy, busyToo, waiting]) claimant.request();

    for (let i = 0; i < 8; i++) group.release(1);
    await turns();

    expect(waiting.grants).toEqual([8]);
  });

  it.each([
    { pool: 20, limit: 100, half: 10 },
    { pool: 100, limit: 9, half: 5 },
    { pool: 1, limit: 1, half: 1 },
  ])('grants $half of $pool slots at once if $limit are allowed, so that another claim can be under way', (given) => {
    const group = new HandlerSlots(new SlotPool(given.pool), given.limit);
    const claimant = new TestClaimant(group, 400);

    claimant.request();

    expect(claimant.grants).toEqual([given.half]);
  });

  it('never has more slots out than its limit', async () => {
    const random = new SeededRandom();
    const pool = new SlotPool(7);
    const groups = [new HandlerSlots(pool, 2), new HandlerSlots(pool, 4), new HandlerSlots(pool, 100)];
    const out: HandlerSlots[] = [];
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
      (claimants[random.integer(0, claimants.length - 1)] as TestClaimant).request();
      const releases = random.integer(0, out.length);
      for (const group of out.splice(0, releases)) group.release(1);
      if (random.next() < 0.5) await turns(1);
      expect(out.length).toBeLessThanOrEqual(7);
      expect(pool.used).toBe(out.length);
      for (const group of groups) {
        expect(group.free).toBeGreaterThanOrEqual(0);
        expect(group.used).toBe(out.filter((held) => held === group).length);
      }
    }
    for (const { granted } of claimants) expect(granted).toBeGreaterThan(0);
  });

  describe('between claimants that always want more', () => {
    it('is fair: each gets its turn', async () => {
      const pool = new SlotPool(2);
      const group = new HandlerSlots(pool, 100);
      const claimants = Array.from({ length: 5 }, () => new TestClaimant(group, 400));
      for (const claimant of claimants) {
        claimant.onGrant = (slots) => {
          // It handles its messages and asks again.
          setImmediate(() => {
            for (let i = 0; i < slots; i++) group.release(1);
            claimant.request();
          });
        };
        claimant.request();
      }

      await turns(200);

      const turnsOf = claimants.map(({ grants }) => grants.length);
      expect(Math.min(...turnsOf)).toBeGreaterThan(5);
      expect(Math.max(...turnsOf) - Math.min(...turnsOf)).toBeLessThanOrEqual(2);
    });
  });

  describe('with groups', () => {
    it('keeps a group within its limit and gives the rest to others', async () => {
      const pool = new SlotPool(10);
      const [narrow, wide] = [new HandlerSlots(pool, 2), new HandlerSlots(pool, 100)];
      const [a, b, c] = [narrow, narrow, wide].map((group) => new TestClaimant(group, 5)) as Three;
      for (const claimant of [a, b, a, c]) claimant.request();

      expect([a.grants, b.grants, c.grants]).toEqual([[1], [1], [5]]);

      narrow.release(1);
      await turns();
      expect(a.grants).toEqual([1, 1]);
    });

    it('a full group does not keep others waiting', async () => {
      const pool = new SlotPool(2);
      const [narrow, wide] = [new HandlerSlots(pool, 1), new HandlerSlots(pool, 10)];
      const [a, b, c, d] = [narrow, wide, narrow, wide].map((group) => new TestClaimant(group)) as [
        TestClaimant,
        TestClaimant,
        TestClaimant,
        TestClaimant,
      ];
      for (const claimant of [a, b, c, d]) claimant.request();
      expect([a.granted, b.granted, c.granted, d.granted]).toEqual([1, 1, 0, 0]);

      wide.release(1);
      await turns();
      expect([c.granted, d.granted]).toEqual([0, 1]);
      narrow.release(1);
      await turns();
      expect([c.granted, d.granted]).toEqual([1, 1]);
    });

    it('grants to two groups whose slots come back in the same turn of the event loop', async () => {
      const pool = new SlotPool(10);
      const groups = [new HandlerSlots(pool, 1), new HandlerSlots(pool, 1)] as const;
      const busy = groups.map((group) => new TestClaimant(group));
      const waiting = groups.map((group) => new TestClaimant(group));
      for (const claimant of [...busy, ...waiting]) claimant.request();
      expect(waiting.map(({ granted }) => granted)).toEqual([0, 0]);

      for (const group of groups) group.release(1);
      await turns();

      expect(waiting.map(({ granted }) => granted)).toEqual([1, 1]);
    });
  });

  describe('withdraw', () => {
    it('takes a request back that waits for the pool', async () => {
      const pool = new SlotPool(1);
      const group = new HandlerSlots(pool, 10);
      const [busy, waiting] = [new TestClaimant(group), new TestClaimant(group)];
      busy.request();
      waiting.request();
      waiting.withdraw();

      group.release(1);
      await turns();

      expect(waiting.grants).toEqual([]);
    });

    it('takes a request back that waits for its group', async () => {
      const pool = new SlotPool(10);
      const group = new HandlerSlots(pool, 1);
      const [busy, waiting] = [new TestClaimant(group), new TestClaimant(group)];
      busy.request();
      waiting.request();
      waiting.withdraw();

      group.release(1);
      await turns();

      expect(waiting.grants).toEqual([]);
    });

    it('takes a request back that was made twice while its group was full', async () => {
      const pool = new SlotPool(10);
      const group = new HandlerSlots(pool, 1);
      const [busy, waiting] = [new TestClaimant(group), new TestClaimant(group)];
      busy.request();
      waiting.request();
      waiting.request();
      waiting.withdraw();

      group.release(1);
      await turns();

      expect(waiting.grants).toEqual([]);
    });

    it('takes a request back between the release of a slot and its grant', async () => {
      const pool = new SlotPool(10);
      const group = new HandlerSlots(pool, 1);
      const [busy, waiting] = [new TestClaimant(group), new TestClaimant(group)];
      busy.request();
      waiting.request();
      group.release(1);
      waiting.withdraw();
      await turns();

      expect(waiting.grants).toEqual([]);
    });

    it('does nothing for somebody who asked for nothing, and keeps the rest', async () => {
      const pool = new SlotPool(1);
      const group = new HandlerSlots(pool, 10);
      const [busy, waiting] = [new TestClaimant(group), new TestClaimant(group)];
      busy.request();
      waiting.request();
      new TestClaimant(group).withdraw();
      busy.withdraw();

      group.release(1);
      await turns();

      expect(waiting.grants).toEqual([1]);
    });
  });

  describe('idle', () => {
    it('is at once where nothing runs', async () => {
      await expect(new SlotPool(1).idle()).resolves.toBeUndefined();
    });

    it('is when the last slot has come back, for all who wait', async () => {
      const pool = new SlotPool(5);
      const group = new HandlerSlots(pool, 5);
      new TestClaimant(group, 2).request();
      const idle: number[] = [];
      for (const i of [1, 2]) void pool.idle().then(() => idle.push(i));

      group.release(1);
      await turns();
      expect(idle).toEqual([]);
      group.release(1);
      await turns();
      expect(idle).toEqual([1, 2]);
    });
  });
});

describe('slots whose number follows what is wanted', () => {
  it('are granted to those who wait once there are more, and given back if there are fewer', async () => {
    const slots = new HandlerSlots(new SlotPool(Infinity), 0, 1);
    const claimant = new TestClaimant(slots, 16);
    claimant.request();
    expect(claimant.grants).toEqual([]);
    slots.resize(10);
    await turns();
    expect(claimant.grants).toEqual([10]);

    slots.resize(4);
    expect([slots.used, slots.free]).toEqual([10, 0]);
    slots.release(8);
    expect(slots.free).toBe(2);
  });

  it('are idle once none is taken, and nobody asks for one or is about to', async () => {
    const slots = new HandlerSlots(new SlotPool(Infinity), 1, 1);
    const [claimant, later] = [new TestClaimant(slots), new TestClaimant(slots)];
    await slots.idle();
    slots.join(Object.defineProperty(later, 'isAboutToAsk', { get: () => isAboutToAsk }));
    let [isAboutToAsk, isIdle] = [true, false];
    claimant.request();
    void slots.idle().then(() => (isIdle = true));
    slots.release(1);
    await turns();
    expect(isIdle).toBe(false);
    claimant.withdraw();
    await turns();
    expect(isIdle).toBe(false);
    isAboutToAsk = false;
    later.withdraw();
    await turns();
    expect(isIdle).toBe(true);
  });
});
