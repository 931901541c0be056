import { describe, expect, it } from 'vitest';
import { HandlerSlots, SlotPool } from '../../../../lib/consumer/admission/handler-slots.js';
import { SeededRandom } from '../../../support/random.js';
import { TestClaimant, turns } from '../../../support/units/test-claimant.js';

describe('a SlotPool with claimants of several topics of a handler', () => {
  it('holds a later topic back until the claim of an earlier one is answered', async () => {
    const pool = new SlotPool(10);
    const group = new HandlerSlots(pool, 10);
    const [earlier, later] = [new TestClaimant(group, 2, 0), new TestClaimant(group, 5, 1)];
    earlier.request();
    later.request();
    await turns();
    expect([earlier.grants, later.grants]).toEqual([[2], []]);

    earlier.withdraw();
    await turns();
    expect(later.grants).toEqual([5]);
  });

  it('does not hold a later topic back where no earlier one wants anything', () => {
    const pool = new SlotPool(10);
    const group = new HandlerSlots(pool, 10);
    const [earlier, later] = [new TestClaimant(group, 2, 0), new TestClaimant(group, 5, 1)];
    earlier.request();
    earlier.withdraw();
    later.request();

    expect(later.grants).toEqual([5]);
  });

  it('waits for every claimant of the earlier topics', async () => {
    const pool = new SlotPool(100);
    const group = new HandlerSlots(pool, 100);
    const earlier = [0, 0, 1].map((priority) => new TestClaimant(group, 1, priority));
    const last = new TestClaimant(group, 1, 2);
    for (const claimant of [...earlier, last]) claimant.request();
    // The second topic waits for the first, too.
    expect(earlier.map(({ granted }) => granted)).toEqual([1, 1, 0]);

    for (const [i, claimant] of earlier.entries()) {
      expect([i, last.grants]).toEqual([i, []]);
      claimant.withdraw();
      await turns();
    }
    expect(earlier.map(({ granted }) => granted)).toEqual([1, 1, 1]);
    expect(last.grants).toEqual([1]);
  });

  it('grants to the earlier topic first, though the later one has waited longer for a slot', async () => {
    const pool = new SlotPool(1);
    const group = new HandlerSlots(pool, 1);
    const busy = new TestClaimant(group, 1, 1);
    const [later, earlier] = [new TestClaimant(group, 1, 1), new TestClaimant(group, 1, 0)];
    for (const claimant of [busy, later, earlier]) claimant.request();

    group.release(1);
    await turns();
    expect([later.grants, earlier.grants]).toEqual([[], [1]]);

    earlier.withdraw();
    group.release(1);
    await turns();
    expect([later.grants, earlier.grants]).toEqual([[1], [1]]);
  });

  it('goes on with the earlier topic where it asks again as soon as it is answered', async () => {
    const pool = new SlotPool(10);
    const group = new HandlerSlots(pool, 10);
    const [earlier, later] = [new TestClaimant(group, 2, 0), new TestClaimant(group, 5, 1)];
    earlier.request();
    later.request();
    for (let claim = 0; claim < 5; claim++) {
      group.release(2);
      earlier.request();
      await turns();
    }

    expect(earlier.grants).toEqual([2, 2, 2, 2, 2, 2]);
    expect(later.grants).toEqual([]);
  });

  it('holds a later topic back again where an earlier one asks between the release of a slot and its grant', async () => {
    const pool = new SlotPool(1);
    const group = new HandlerSlots(pool, 1);
    const [busy, later, earlier] = [1, 1, 0].map((priority) => new TestClaimant(group, 1, priority)) as [
      TestClaimant,
      TestClaimant,
      TestClaimant,
    ];
    busy.request();
    later.request();
    group.release(1);
    earlier.request();
    await turns();

    expect([later.grants, earlier.grants]).toEqual([[], [1]]);
  });

  it('leaves other handlers alone', () => {
    const pool = new SlotPool(10);
    const [group, other] = [new HandlerSlots(pool, 1), new HandlerSlots(pool, 10)];
    const [busy, earlier, later] = [0, 0, 1].map((priority) => new TestClaimant(group, 1, priority)) as [
      TestClaimant,
      TestClaimant,
      TestClaimant,
    ];
    const foreign = [0, 1].map((priority) => new TestClaimant(other, 2, priority)) as [TestClaimant, TestClaimant];
    for (const claimant of [busy, earlier, later, foreign[1]]) claimant.request();

    expect([earlier.grants, later.grants, foreign[1].grants]).toEqual([[], [], [2]]);
    foreign[0].request();
    expect(foreign[0].grants).toEqual([2]);
  });

  it('takes back the request of one that is held back', async () => {
    const pool = new SlotPool(10);
    const group = new HandlerSlots(pool, 10);
    const [earlier, later] = [new TestClaimant(group, 1, 0), new TestClaimant(group, 1, 1)];
    earlier.request();
    later.request();
    later.withdraw();
    earlier.withdraw();
    await turns();

    expect(later.grants).toEqual([]);
  });

  it('never grants out of order, and forgets nobody', async () => {
    const random = new SeededRandom();
    const pool = new SlotPool(5);
    const groups = [new HandlerSlots(pool, 1), new HandlerSlots(pool, 3), new HandlerSlots(pool, 100)];
    const hungry = new Set<TestClaimant>();
    const claiming = new Map<TestClaimant, number>();
    const outOfOrder: TestClaimant[] = [];
    const claimants = groups.flatMap((group) =>
      [0, 0, 1, 1, 2].map((priority) => {
        const claimant = new TestClaimant(group, random.integer(1, 4), priority);
        claimant.onGrant = (slots) => {
          const earlier = [...hungry].some((other) => other.slots === group && other.priority < priority);
          if (earlier) outOfOrder.push(claimant);
          claiming.set(claimant, slots);
        };
        return claimant;
      }),
    );
    const answer = (claimant: TestClaimant): void => {
      claimant.slots.release(claiming.get(claimant) ?? 0);
      claiming.delete(claimant);
      hungry.delete(claimant);
      claimant.withdraw();
    };
    for (let step = 0; step < 3000; step++) {
      const claimant = claimants[random.integer(0, claimants.length - 1)] as TestClaimant;
      const chance = random.next();
      if (claiming.has(claimant)) answer(claimant);
      else if (chance < 0.7) {
        hungry.add(claimant);
        claimant.request();
      } else {
        hungry.delete(claimant);
        claimant.withdraw();
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
