import { describe, expect } from 'vitest';
import type { PartitionSignal } from '../../lib/store/fleet/signals.js';
import { MAX_DUE_SCHEDULES } from '../../lib/store/schedules/due-schedules.js';
import { type BrokerTest, LONG } from '../support/broker/broker-bed.js';
import { Received } from '../support/broker/received.js';
import { CONTENT, due, newSchedule, put, state, stored } from '../support/broker/stored-schedules.js';

export function schedulesContract(it: BrokerTest): void {
  describe('the list of schedules', () => {
    it('has each schedule where it was entered first', async ({ bed }) => {
      const id = bed.partition.topic;
      const place = { topic: 'reports', key: 'Grüße, Welt' };
      expect(await bed.broker.schedules.findSchedule({ id })).toBeUndefined();
      expect(await bed.broker.schedules.indexSchedule({ id, ...place })).toEqual(place);
      expect(await bed.broker.schedules.indexSchedule({ id, topic: 'others', key: id })).toEqual(place);
      expect(await bed.broker.schedules.findSchedule({ id })).toEqual(place);
      expect(await bed.broker.schedules.listSchedules()).toContainEqual({ id, ...place });
    });

    it('has none that was taken off it', async ({ bed }) => {
      const id = bed.partition.topic;
      await bed.broker.schedules.indexSchedule({ id, topic: 'reports', key: 'k' });
      await bed.broker.schedules.unindexSchedule({ id });
      await bed.broker.schedules.unindexSchedule({ id });
      expect(await bed.broker.schedules.findSchedule({ id })).toBeUndefined();
      expect((await bed.broker.schedules.listSchedules()).map((one) => one.id)).not.toContain(id);
    });

    it('is in order', async ({ bed }) => {
      const ids = ['c', 'a', 'b'].map((letter) => `${bed.partition.topic}-${letter}`);
      for (const id of ids) await bed.broker.schedules.indexSchedule({ id, topic: 'reports', key: id });
      const listed = (await bed.broker.schedules.listSchedules()).map((one) => one.id).filter((id) => ids.includes(id));
      expect(listed).toEqual(ids.toSorted());
    });
  });

  describe('putting a schedule', () => {
    it('keeps it as it is', async ({ bed }) => {
      const write = newSchedule('tick', 123_456);
      expect(await put(bed, write)).toBe(true);
      expect(await stored(bed)).toEqual({ id: 'tick', state: write.state, ...CONTENT, nextAt: 123_456 });
      expect(await bed.broker.schedules.getSchedules(bed.partition, ['none', 'tick'])).toMatchObject([
        undefined,
        { id: 'tick' },
      ]);
    });

    it('needs the state that is stored', async ({ bed }) => {
      const first = await due(bed);
      expect(await put(bed, newSchedule('tick', 9))).toBe(false);
      expect(await put(bed, { id: 'tick', expected: 'other', state: state(), nextAt: 9 })).toBe(false);
      expect(await put(bed, { id: 'none', expected: first, state: state(), nextAt: 9 })).toBe(false);
      expect(await stored(bed)).toMatchObject({ state: first, nextAt: 5 });
      expect(await stored(bed, 'none')).toBeUndefined();
    });

    it('leaves what it is made of, or replaces it', async ({ bed }) => {
      const first = await due(bed);
      const moved = { id: 'tick', expected: first, state: state(), nextAt: 77 };
      expect(await put(bed, moved)).toBe(true);
      expect(await stored(bed)).toEqual({ id: 'tick', state: moved.state, ...CONTENT, nextAt: 77 });

      const content = { definition: '{}', envelope: '[1767268800000,"new\\nline"]' };
      const replaced = { id: 'tick', expected: moved.state, state: state(), content, nextAt: undefined };
      expect(await put(bed, replaced)).toBe(true);
      expect(await stored(bed)).toEqual({ id: 'tick', state: replaced.state, ...content, nextAt: undefined });
    });

    it('may be repeated', async ({ bed }) => {
      const [first, firstCall, secondCall] = [
        newSchedule('tick', 5),
        bed.nextCall(),
        { caller: 'another', sequence: 1 },
      ];
      expect([await put(bed, first, firstCall), await put(bed, first, firstCall)]).toEqual([true, true]);
      const second = { id: 'tick', expected: first.state, state: state(), nextAt: 6 };
      expect([await put(bed, second, secondCall), await put(bed, second, secondCall)]).toEqual([true, true]);
      // A copy that was delayed on its way changes nothing.
      expect(await put(bed, first, firstCall)).toBe(true);
      expect(await stored(bed)).toMatchObject({ state: second.state, nextAt: 6 });
    });

    it('does not bring back one that was removed before a late repeat, nor one that was not there in time', async ({
      bed,
    }) => {
      const [first, call] = [newSchedule('tick', 5), bed.nextCall()];
      const given = { id: 'tick', expected: first.state, state: state(), nextAt: 7 };
      const early = { caller: 'another', sequence: 1 };
      expect(await put(bed, given, early)).toBe(false);
      await put(bed, first, call);
      expect(await put(bed, given, early)).toBe(false);
      expect(await stored(bed)).toMatchObject({ nextAt: 5 });

      await bed.broker.schedules.removeSchedule(bed.partition, { caller: 'a third', sequence: 1 }, 'tick');
      expect(await put(bed, first, call)).toBe(true);
      expect(await stored(bed)).toBeUndefined();
    });

    it('refuses what is no time, with nothing written', async ({ bed }) => {
      for (const nextAt of [NaN, -1, 8_640_000_000_000_001]) {
        await expect(put(bed, newSchedule('tick', nextAt))).rejects.toThrow('must be milliseconds from 0');
      }
      expect(await stored(bed)).toBeUndefined();
    });

    it('signals when it becomes the earliest of its partition, and only then', async ({ bed }) => {
      await bed.earlierSignalsArrived();
      const signals = new Received<PartitionSignal>();
      bed.broker.watchPartition(bed.partition, signals.listener);
      await bed.broker.link.listen();
      await put(bed, newSchedule('none', undefined));
      // What is due already has signalled, and does not hide what comes.
      const now = Math.ceil(await bed.time());
      const times = [now - 1, now + 50_000, now + 60_000, now + 40_000, now + 30_000];
      for (const [i, at] of times.entries()) await put(bed, newSchedule(`number ${i}`, at));

      expect(await signals.atLeast(4)).toEqual(
        times.filter((_, i) => i !== 2).map((at) => ({ kind: 'schedules', at })),
      );
    });
  });

  describe('removing a schedule', () => {
    it('removes it for good, and answers a repeat as the first call', async ({ bed }) => {
      await due(bed);
      const call = bed.nextCall();
      expect(await bed.broker.schedules.removeSchedule(bed.partition, call, 'tick')).toBe(true);
      expect(await bed.broker.schedules.removeSchedule(bed.partition, call, 'tick')).toBe(true);
      expect(await bed.broker.schedules.removeSchedule(bed.partition, bed.nextCall(), 'tick')).toBe(false);
      expect(await stored(bed)).toBeUndefined();
      expect(await bed.broker.schedules.dueSchedules(bed.partition)).toMatchObject({ due: [], nextAt: undefined });
    });

    it('does not remove one that was stored again before a late repeat', async ({ bed }) => {
      await due(bed);
      const call = { caller: 'another', sequence: 1 };
      await bed.broker.schedules.removeSchedule(bed.partition, call, 'tick');
      const again = await due(bed);
      expect(await bed.broker.schedules.removeSchedule(bed.partition, call, 'tick')).toBe(true);
      expect(await stored(bed)).toMatchObject({ state: again });
    });
  });

  describe('looking for due schedules', () => {
    it('lists those whose time has come, in order, and tells the next', async ({ bed }) => {
      const later = (await bed.time()) + LONG;
      await put(bed, newSchedule('none', undefined));
      await put(bed, newSchedule('later', Math.ceil(later)));
      const second = await due(bed, 'second', 7);
      const first = await due(bed, 'first', 5);

      const before = Math.floor(await bed.time());
      const looked = await bed.broker.schedules.dueSchedules(bed.partition);
      expect(looked).toEqual({
        due: [
          { id: 'first', state: first, ...CONTENT },
          { id: 'second', state: second, ...CONTENT },
        ],
        nextAt: Math.ceil(later),
        now: expect.any(Number) as number,
        count: 4,
        repaired: 0,
        damaged: [],
      });
      expect(looked.now).toBeGreaterThanOrEqual(before);
      expect(looked.now).toBeLessThanOrEqual(await bed.time());
    });

    it('finds nothing in a partition without schedules', async ({ bed }) => {
      expect(await bed.broker.schedules.dueSchedules(bed.partition)).toMatchObject({
        due: [],
        nextAt: undefined,
        count: 0,
      });
    });

    it('lists so many at most, and tells when the next one is due', async ({ bed }) => {
      for (let i = 0; i < MAX_DUE_SCHEDULES + 2; i++) await due(bed, `number ${i}`, i);
      const { due: listed, nextAt } = await bed.broker.schedules.dueSchedules(bed.partition);
      expect(listed).toHaveLength(MAX_DUE_SCHEDULES);
      expect(nextAt).toBe(MAX_DUE_SCHEDULES);
    });

    it('lists one whose time comes, and none before', async ({ bed }) => {
      const at = Math.ceil(await bed.time()) + 20;
      await put(bed, newSchedule('tick', at));
      const early = await bed.broker.schedules.dueSchedules(bed.partition);
      // On a busy host its time may have come.
      expect(early).toMatchObject(early.now < at ? { due: [], nextAt: at } : { due: [{ id: 'tick' }] });
      await bed.advance(21);
      expect(await bed.broker.schedules.dueSchedules(bed.partition)).toMatchObject({
        due: [{ id: 'tick' }],
        nextAt: undefined,
      });
    });
  });
}
