import { describe, expect } from 'vitest';
import type { PartitionSignal } from '../../lib/store/fleet/signals.js';
import type { CallId } from '../../lib/store/partition.js';
import { toStoredId } from '../../lib/messages/stored-id.js';
import {
  type BrokerBed,
  type BrokerTest,
  ACK,
  DEAD,
  LONG,
  RETRY_LATER,
  message,
} from '../support/broker/broker-bed.js';
import { Received } from '../support/broker/received.js';

const NEW = '[9,"new"]';

async function edit(bed: BrokerBed, storedId: string, expected?: string, call = bed.nextCall()): Promise<string> {
  const stored = await bed.get(storedId);
  const change = { storedId, expected: expected ?? stored?.envelope ?? '', envelope: NEW };
  return bed.broker.messages.edit(bed.partition, call, change);
}

async function runNow(bed: BrokerBed, storedId: string, call: CallId = bed.nextCall()): Promise<string> {
  return bed.broker.messages.runNow(bed.partition, call, storedId);
}

/** How many messages each step has removed. */
async function clearAll(bed: BrokerBed, state: 'scheduled' | 'dead'): Promise<number[]> {
  const steps: number[] = [];
  let more = true;
  while (more) {
    const step = await bed.broker.messages.clear(bed.partition, bed.nextCall(), state);
    steps.push(step.removed);
    more = step.more;
  }
  return steps;
}

export function changeContract(it: BrokerTest): void {
  describe('runNow', () => {
    it('makes a message due now, and wakes the owner', async ({ bed }) => {
      const received = new Received<PartitionSignal>();
      await bed.publish('a', { due: { after: LONG } });
      await bed.earlierSignalsArrived();
      const unsubscribe = bed.broker.watchPartition(bed.partition, received.listener);
      await bed.broker.link.listen();
      const before = await bed.time();

      expect(await runNow(bed, 'a')).toBe('moved');

      const { at } = (await bed.get('a')) ?? { at: NaN };
      expect(at).toBeGreaterThanOrEqual(before);
      expect(at).toBeLessThanOrEqual(Math.ceil(await bed.time()));
      expect(await received.atLeast(1)).toEqual([{ kind: 'due', at }]);
      await bed.advance(1);
      expect(await bed.claimOne()).toMatchObject({ storedId: 'a', dueAt: at });
      await unsubscribe();
    });

    it('leaves one that is due its time', async ({ bed }) => {
      await bed.publish('a', { due: { at: 5 } });

      expect(await runNow(bed, 'a')).toBe('moved');
      expect(await bed.get('a')).toMatchObject({ at: 5 });
    });

    it('spends nothing of one that waits for its next attempt', async ({ bed }) => {
      await bed.settled('a', RETRY_LATER);

      expect(await runNow(bed, 'a')).toBe('moved');
      await bed.advance(1);
      expect(await bed.claimOne()).toMatchObject({ delivery: 2, attempt: 2 });
    });

    it('does nothing to what does not wait', async ({ bed }) => {
      await bed.settled('dead', DEAD);
      await bed.deliver('in flight');

      expect(await runNow(bed, 'in flight')).toBe('in-flight');
      expect(await runNow(bed, 'dead')).toBe('dead');
      expect(await runNow(bed, 'nobody')).toBe('not-found');
      expect(await bed.stats()).toMatchObject({ scheduled: 0, inFlight: 1, dead: 1 });
    });

    it('repeated, gets the same answer and changes nothing', async ({ bed }) => {
      await bed.publish('a', { due: { after: LONG } });
      const call = bed.nextCall();
      await runNow(bed, 'a', call);
      await bed.reschedule('a', { at: 7 }, { caller: 'another', sequence: 1 });

      expect(await runNow(bed, 'a', call)).toBe('moved');
      expect(await bed.get('a')).toMatchObject({ at: 7 });
    });
  });

  describe('edit', () => {
    it('replaces the envelope of a message that waits, and nothing else of it', async ({ bed }) => {
      await bed.settled('a', RETRY_LATER);
      const before = await bed.get('a');

      expect(await edit(bed, 'a')).toBe('edited');
      expect(await bed.get('a')).toEqual({ ...before, envelope: NEW });
    });

    it('is what the next delivery brings', async ({ bed }) => {
      await bed.publish('a');
      await edit(bed, 'a');

      expect(await bed.claimOne()).toMatchObject({ envelope: NEW, attempt: 1 });
    });

    it('does not overwrite what somebody else has written meanwhile', async ({ bed }) => {
      await bed.publish('a');
      const { envelope } = (await bed.get('a')) ?? { envelope: '' };
      await bed.publish('a', { envelope: '[2,2]', onDuplicate: 'replace' });

      expect(await edit(bed, 'a', envelope)).toBe('changed');
      expect(await bed.get('a')).toMatchObject({ envelope: '[2,2]' });
    });

    it('does nothing to what does not wait', async ({ bed }) => {
      await bed.settled('dead', DEAD);
      await bed.deliver('in flight');
      const before = [await bed.get('dead'), await bed.get('in flight')];

      expect(await edit(bed, 'dead')).toBe('changed');
      expect(await edit(bed, 'in flight')).toBe('changed');
      expect(await edit(bed, 'nobody')).toBe('changed');
      expect([await bed.get('dead'), await bed.get('in flight')]).toEqual(before);
    });

    it('repeated, gets the same answer and changes nothing', async ({ bed }) => {
      await bed.publish('a', { envelope: '[1,1]' });
      const call = bed.nextCall();
      expect(await edit(bed, 'a', '[1,1]', call)).toBe('edited');
      const another: CallId = { caller: 'another', sequence: 1 };
      await bed.publishAll([message('a', { envelope: '[1,1]', onDuplicate: 'replace' })], another);

      expect(await edit(bed, 'a', '[1,1]', call)).toBe('edited');
      expect(await bed.get('a')).toMatchObject({ envelope: '[1,1]' });
    });
  });

  describe('clear', () => {
    it('removes what waits, step by step, and counts it as cancelled', async ({ bed }) => {
      await bed.settled('dead', DEAD);
      const inFlight = await bed.deliver('in flight');
      await bed.settled('again', RETRY_LATER);
      const ids = Array.from({ length: 150 }, (_, i) => toStoredId(`m${i}`, 'key'));
      await bed.publishAll(ids.map((id) => message(id)));

      const steps = await clearAll(bed, 'scheduled');

      expect(steps).toEqual([100, 51]);
      const { counters, ...counts } = await bed.stats();
      expect(counts).toMatchObject({ scheduled: 0, inFlight: 1, dead: 1, nextDueAt: undefined });
      expect(counters).toMatchObject({ cancelled: 151 });
      expect(await bed.settle(inFlight, ACK)).toBe('settled');
      expect(await bed.broker.messages.locate(bed.partition, 'm0')).toEqual([]);
      expect(await bed.publish(ids[0] ?? '')).toMatchObject({ status: 'created' });
    });

    it('removes the first ones first', async ({ bed }) => {
      await bed.publishAll(Array.from({ length: 101 }, (_, i) => message(`m${i}`, { due: { at: 1000 - i } })));

      await bed.broker.messages.clear(bed.partition, bed.nextCall(), 'scheduled');

      expect(await bed.get('m0')).toMatchObject({ at: 1000 });
      expect(await bed.stats()).toMatchObject({ scheduled: 1 });
    });

    it('removes dead letters, with all that is known of them', async ({ bed }) => {
      for (const id of ['a', 'b']) await bed.settled(id, DEAD);
      await bed.publish('waits');

      expect(await clearAll(bed, 'dead')).toEqual([2]);

      const { counters, ...counts } = await bed.stats();
      expect(counts).toMatchObject({ scheduled: 1, dead: 0 });
      expect(counters).toMatchObject({ died: 2, cancelled: 0 });
      await bed.publish('a');
      expect(await bed.get('a')).toMatchObject({ deliveries: 0, failure: undefined });
    });

    it('has nothing to do where nothing is', async ({ bed }) => {
      expect(await clearAll(bed, 'scheduled')).toEqual([0]);
      expect(await clearAll(bed, 'dead')).toEqual([0]);
    });

    it('repeated, gets the same answer and removes nothing more', async ({ bed }) => {
      await bed.publishAll(Array.from({ length: 150 }, (_, i) => message(`m${i}`)));
      const call = bed.nextCall();
      const first = await bed.broker.messages.clear(bed.partition, call, 'scheduled');

      expect(first).toEqual({ removed: 100, more: true });
      expect(await bed.broker.messages.clear(bed.partition, call, 'scheduled')).toEqual(first);
      expect(await bed.stats()).toMatchObject({ scheduled: 50 });
    });
  });
}
