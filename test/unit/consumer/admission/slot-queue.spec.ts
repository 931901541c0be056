import { describe, expect, it } from 'vitest';
import { HandlerSlots, SlotPool } from '../../../../lib/consumer/admission/handler-slots.js';
import { SlotQueue } from '../../../../lib/consumer/admission/slot-queue.js';
import { turns } from '../../../support/units/test-claimant.js';

function build({ limit = 2, batch = 1 }: { limit?: number; batch?: number } = {}) {
  const pool = new SlotPool(limit);
  const slots = new HandlerSlots(pool, limit);
  const begun: string[][] = [];
  const queue = new SlotQueue<string>({ slots, batch, priority: 0 }, (ids) => begun.push([...ids]));
  const add = (...ids: string[]): void => queue.add(ids);
  return { pool, slots, begun, queue, add };
}

describe('SlotQueue', () => {
  it('begins what there are slots for, and the rest as slots come back, in order', async () => {
    const { slots, begun, add } = build();
    add('a', 'b', 'c', 'd');
    expect(begun).toEqual([['a'], ['b']]);
    add('e');
    slots.release(2);
    await turns();
    expect(begun).toEqual([['a'], ['b'], ['c'], ['d']]);
    slots.release(1);
    await turns();

    expect(begun.at(-1)).toEqual(['e']);
  });

  it('makes full batches, and keeps no slot that it does not need', async () => {
    const { pool, begun, add } = build({ limit: 10, batch: 3 });
    add('a', 'b', 'c', 'd');
    await turns();

    expect(begun).toEqual([['a', 'b', 'c'], ['d']]);
    expect(pool.used).toBe(2);
  });

  it('keeps the pool from being idle until all has begun and ended', async () => {
    const { pool, slots, add } = build({ limit: 1 });
    let idle = false;
    add('a', 'b');
    void pool.idle().then(() => (idle = true));
    slots.release(1);
    await turns();
    expect(idle).toBe(false);
    slots.release(1);
    await turns();

    expect(idle).toBe(true);
  });

  it('gives up what still waits', async () => {
    const { pool, slots, begun, queue, add } = build({ limit: 1 });
    add('a', 'b', 'c');
    expect(queue.giveUp()).toEqual(['b', 'c']);
    slots.release(1);
    await turns();

    expect(begun).toEqual([['a']]);
    await pool.idle();
  });
});
