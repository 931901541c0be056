import { describe, expect } from 'vitest';
import type { PartitionSignal } from '../../lib/store/fleet/signals.js';
import { decodeEnvelope } from '../../lib/messages/envelope.js';
import { ACK, type BrokerTest, DEAD, LONG, RETRY_LATER, message } from '../support/broker/broker-bed.js';
import { Received } from '../support/broker/received.js';
import { CONTENT, SERIES, due, publish, publishUnlessBusy, state, stored } from '../support/broker/stored-schedules.js';

export function occurrencesContract(it: BrokerTest): void {
  describe('publishing an occurrence', () => {
    it('publishes the message of the schedule, and moves the schedule on', async ({ bed }) => {
      const expected = await due(bed);
      const before = Math.floor(await bed.time());
      const next = state(2000);
      expect(await publish(bed, { expected, state: next, nextAt: 2000, dueAt: 1000 })).toEqual({
        status: 'published',
        duplicate: false,
      });
      expect(await stored(bed)).toEqual({ id: 'tick', state: next, ...CONTENT, nextAt: 2000 });

      const claimed = await bed.claimOne();
      expect(claimed).toMatchObject({ storedId: 'tick@1970-01-01T00:00:01.000Z\0tick', dueAt: 1000, delivery: 1 });
      const envelope = decodeEnvelope(claimed.envelope);
      expect(envelope).toMatchObject({ payload: { of: 'yesterday' }, headers: { trace: '7f' } });
      expect(envelope.publishedAt).toBeGreaterThanOrEqual(before);
      expect(envelope.publishedAt).toBeLessThanOrEqual((await bed.time()) + 1);
      expect(await bed.stats()).toMatchObject({ counters: { published: 1, delivered: 1 } });
      expect(await bed.broker.messages.locate(bed.partition, 'tick@1970-01-01T00:00:01.000Z')).toEqual([
        claimed.storedId,
      ]);
    });

    it('is never early', async ({ bed }) => {
      const expected = await due(bed);
      const dueAt = Math.ceil(await bed.time()) + 30;
      await publish(bed, { expected, dueAt });
      let claimed = await bed.claim();
      for (; claimed.messages.length === 0; claimed = await bed.claim()) {
        expect(claimed.nextAt).toBe(dueAt);
        await bed.advance(5);
      }
      expect(await bed.time()).toBeGreaterThanOrEqual(dueAt);
    });

    it('wakes the owner', async ({ bed }) => {
      await bed.earlierSignalsArrived();
      const expected = await due(bed);
      await bed.signalsArrived();
      const signals = new Received<PartitionSignal>();
      bed.broker.watchPartition(bed.partition, signals.listener);
      await bed.broker.link.listen();
      await publish(bed, { expected, dueAt: 1000 });
      expect(await signals.atLeast(1)).toEqual([{ kind: 'due', at: 1000 }]);
    });

    it('takes effect once, however often it is repeated, also once the message was handled', async ({ bed }) => {
      const expected = await due(bed);
      const call = bed.nextCall();
      const occurrence = { expected, state: state(2000), call };
      expect(await publish(bed, occurrence)).toMatchObject({ status: 'published' });
      expect(await publish(bed, occurrence)).toMatchObject({ status: 'published', duplicate: false });
      await bed.settle(await bed.claimOne(), ACK);
      expect(await publish(bed, occurrence)).toMatchObject({ status: 'published', duplicate: false });
      expect((await bed.claim()).messages).toEqual([]);
      expect(await bed.stats()).toMatchObject({ counters: { published: 1 } });
    });

    it('changes nothing if the schedule is not as it was seen', async ({ bed }) => {
      const expected = await due(bed);
      await publish(bed, { expected });
      expect(await publish(bed, { expected, dueAt: 3000 })).toEqual({ status: 'changed' });
      expect(await publish(bed, { expected: 'other', dueAt: 3000 })).toEqual({ status: 'changed' });
      expect(await publish(bed, { id: 'none', expected, dueAt: 3000 })).toEqual({ status: 'changed' });
      expect((await bed.claim()).messages).toHaveLength(1);
      expect(await stored(bed)).toMatchObject({ nextAt: 2000 });
    });

    it('is for the owner', async ({ bed }) => {
      const expected = await due(bed);
      expect(await publish(bed, { expected, owner: 'epoch somebody' })).toEqual({
        status: 'not-owner',
        owner: bed.owner,
      });
      await bed.broker.fleet.release(bed.partition, bed.owner);
      expect(await publish(bed, { expected })).toMatchObject({ status: 'not-owner' });
      expect((await bed.stats()).scheduled).toBe(0);
      expect(await stored(bed)).toMatchObject({ state: expected, nextAt: 5 });
    });

    it('leaves a message with the same id as it is', async ({ bed }) => {
      const expected = await due(bed);
      const own = message('tick@1970-01-01T00:00:01.000Z\0tick', { due: { at: 4000 } });
      await bed.publishAll([own]);
      expect(await publish(bed, { expected })).toEqual({ status: 'published', duplicate: true });
      expect(await bed.get(own.storedId)).toMatchObject({ envelope: own.envelope, at: 4000 });
      expect(await stored(bed)).toMatchObject({ nextAt: 2000 });
    });

    it('may be the last one', async ({ bed }) => {
      const expected = await due(bed);
      expect(await publish(bed, { expected, state: state('-'), nextAt: undefined })).toMatchObject({
        status: 'published',
      });
      expect(await stored(bed)).toMatchObject({ nextAt: undefined });
      expect(await bed.broker.schedules.dueSchedules(bed.partition)).toMatchObject({ due: [], nextAt: undefined });
    });

    it('refuses what is no time, with nothing written', async ({ bed }) => {
      const expected = await due(bed);
      await expect(publish(bed, { expected, dueAt: NaN, storedId: 'x' })).rejects.toThrow(
        'must be milliseconds from 0',
      );
      await expect(publish(bed, { expected, nextAt: -1 })).rejects.toThrow('must be milliseconds from 0');
      expect(await stored(bed)).toMatchObject({ state: expected });
      expect((await bed.stats()).scheduled).toBe(0);
    });

    it('waits behind the earlier one in an ordered topic', async ({ bed }) => {
      const expected = await due(bed);
      const second = state(2000);
      await publish(bed, { expected, state: second, nextAt: 2000, dueAt: 1000, order: 'continue' });
      await publish(bed, { expected: second, nextAt: 3000, dueAt: 2000, order: 'continue' });
      const { messages } = await bed.claim();
      expect(messages).toMatchObject([{ storedId: 'tick@1970-01-01T00:00:01.000Z\0tick' }]);
      expect(await bed.stats()).toMatchObject({ blocked: 1 });

      await bed.settleAll(messages.map((one) => [one, ACK]));
      expect((await bed.claimOne()).storedId).toBe('tick@1970-01-01T00:00:02.000Z\0tick');
    });

    it('concerns one of several schedules', async ({ bed }) => {
      const expected = await due(bed);
      const other = await due(bed, 'other', 6);
      await publish(bed, { expected, nextAt: Math.ceil(await bed.time()) + LONG });
      expect(await bed.broker.schedules.dueSchedules(bed.partition)).toMatchObject({
        due: [{ id: 'other', state: other }],
      });
    });
  });

  describe('an occurrence while an earlier one is not over', () => {
    it('is skipped while that waits, runs or retries, and published afterwards', async ({ bed }) => {
      await due(bed);
      expect(await publishUnlessBusy(bed, 1000)).toBe('published');
      expect(await publishUnlessBusy(bed, 2000)).toBe('skipped');
      const first = await bed.claimOne();
      expect(await publishUnlessBusy(bed, 3000)).toBe('skipped');
      await bed.settle(first, RETRY_LATER);
      expect(await publishUnlessBusy(bed, 4000)).toBe('skipped');
      await bed.reschedule(first.storedId, { at: 1 });
      await bed.settle(await bed.claimOne(), ACK);
      expect(await publishUnlessBusy(bed, 5000)).toBe('published');
      expect((await bed.stats()).counters.published).toBe(2);
    });

    it('is published if that is dead', async ({ bed }) => {
      await due(bed);
      await publishUnlessBusy(bed, 1000);
      await bed.settle(await bed.claimOne(), DEAD);
      expect(await publishUnlessBusy(bed, 2000)).toBe('published');
      expect(await publishUnlessBusy(bed, 3000)).toBe('skipped');
    });

    it('goes by all messages of the schedule, and by no others', async ({ bed }) => {
      await due(bed);
      const others = [
        'tick@2026\0other',
        'tick@2026',
        'tick\0tick',
        'tock@2026\0tick',
        'tick@x\0tick',
        'tic@2026\0tick',
      ];
      await bed.publishAll(others.map((id) => message(id, { due: { at: 4000 } })));
      expect(await publishUnlessBusy(bed, 1000)).toBe('published');
      await bed.cancel('tick@1970-01-01T00:00:01.000Z\0tick');

      await bed.publish('tick@1969-12-31T00:00:00.000Z/more\0tick', { due: { at: 4000 } });
      expect(await publishUnlessBusy(bed, 2000)).toBe('skipped');
    });

    it('is answered again as it was', async ({ bed }) => {
      const expected = await due(bed);
      await bed.publish('tick@1970-01-01T00:00:00.500Z\0tick');
      const call = bed.nextCall();
      const occurrence = { expected, state: state(), unlessBusy: { state: state(), series: SERIES }, call };
      expect(await publish(bed, occurrence)).toEqual({ status: 'skipped' });
      expect(await publish(bed, occurrence)).toEqual({ status: 'skipped' });
      expect((await bed.stats()).scheduled).toBe(1);
    });

    it('finds it behind many dead ones', async ({ bed }) => {
      await due(bed);
      const ids = Array.from({ length: 150 }, (_, i) => `tick@${new Date(i * 1000).toISOString()}\0tick`);
      const [oldest = '', ...dead] = ids;
      await bed.publishAll(dead.map((id) => message(id)));
      const { messages } = await bed.claim({ max: 200 });
      await bed.settleAll(messages.map((one) => [one, DEAD]));
      expect(await publishUnlessBusy(bed, 1_000_000)).toBe('published');
      await bed.cancel(`tick@${new Date(1_000_000).toISOString()}\0tick`);
      await bed.publish(oldest);
      expect(await publishUnlessBusy(bed, 2_000_000)).toBe('skipped');
    });
  });
}
