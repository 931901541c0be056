import { describe, expect } from 'vitest';
import type { CallId, PartitionSignal } from '../../lib/broker/broker.interface.js';
import { toStoredId } from '../../lib/messages/stored-id.js';
import { type Bench, type BrokerTest, ACK, DEAD, LONG, RETRY_LATER, message } from '../support/contract-bench.js';
import { Received } from '../support/contract-signals.js';

const NEW = '[9,"new"]';

async function edit(bench: Bench, storedId: string, expected?: string, call = bench.nextCall()): Promise<string> {
  const stored = await bench.get(storedId);
  const change = { storedId, expected: expected ?? stored?.envelope ?? '', envelope: NEW };
  return bench.broker.edit(bench.partition, call, change);
}

async function runNow(bench: Bench, storedId: string, call: CallId = bench.nextCall()): Promise<string> {
  return bench.broker.runNow(bench.partition, call, storedId);
}

/** How many messages each step has removed. */
async function clearAll(bench: Bench, state: 'scheduled' | 'dead'): Promise<number[]> {
  const steps: number[] = [];
  let more = true;
  while (more) {
    const step = await bench.broker.clear(bench.partition, bench.nextCall(), state);
    steps.push(step.removed);
    more = step.more;
  }
  return steps;
}

export function changeContract(it: BrokerTest): void {
  describe('runNow', () => {
    it('makes a message due now, and wakes the owner', async ({ bench }) => {
      const received = new Received<PartitionSignal>();
      await bench.publish('a', { due: { after: LONG } });
      await bench.earlierSignalsArrived();
      const unsubscribe = bench.broker.watchPartition(bench.partition, received.listener);
      await bench.broker.link.listen();
      const before = await bench.time();

      expect(await runNow(bench, 'a')).toBe('rescheduled');

      const { at } = (await bench.get('a')) ?? { at: NaN };
      expect(at).toBeGreaterThanOrEqual(before);
      expect(at).toBeLessThanOrEqual(Math.ceil(await bench.time()));
      expect(await received.atLeast(1)).toEqual([{ kind: 'due', at }]);
      await bench.advance(1);
      expect(await bench.claimOne()).toMatchObject({ storedId: 'a', dueAt: at });
      await unsubscribe();
    });

    it('leaves one that is due its time', async ({ bench }) => {
      await bench.publish('a', { due: { at: 5 } });

      expect(await runNow(bench, 'a')).toBe('rescheduled');
      expect(await bench.get('a')).toMatchObject({ at: 5 });
    });

    it('spends nothing of one that waits for its next attempt', async ({ bench }) => {
      await bench.settled('a', RETRY_LATER);

      expect(await runNow(bench, 'a')).toBe('rescheduled');
      await bench.advance(1);
      expect(await bench.claimOne()).toMatchObject({ delivery: 2, attempt: 2 });
    });

    it('does nothing to what does not wait', async ({ bench }) => {
      await bench.settled('dead', DEAD);
      await bench.deliver('in flight');

      expect(await runNow(bench, 'in flight')).toBe('in-flight');
      expect(await runNow(bench, 'dead')).toBe('not-found');
      expect(await runNow(bench, 'nobody')).toBe('not-found');
      expect(await bench.broker.stats(bench.partition)).toMatchObject({ scheduled: 0, inFlight: 1, dead: 1 });
    });

    it('repeated, gets the same answer and changes nothing', async ({ bench }) => {
      await bench.publish('a', { due: { after: LONG } });
      const call = bench.nextCall();
      await runNow(bench, 'a', call);
      await bench.reschedule('a', { at: 7 }, { caller: 'another', sequence: 1 });

      expect(await runNow(bench, 'a', call)).toBe('rescheduled');
      expect(await bench.get('a')).toMatchObject({ at: 7 });
    });
  });

  describe('edit', () => {
    it('replaces the envelope of a message that waits, and nothing else of it', async ({ bench }) => {
      await bench.settled('a', RETRY_LATER);
      const before = await bench.get('a');

      expect(await edit(bench, 'a')).toBe('edited');
      expect(await bench.get('a')).toEqual({ ...before, envelope: NEW });
    });

    it('is what the next delivery brings', async ({ bench }) => {
      await bench.publish('a');
      await edit(bench, 'a');

      expect(await bench.claimOne()).toMatchObject({ envelope: NEW, attempt: 1 });
    });

    it('does not overwrite what somebody else has written meanwhile', async ({ bench }) => {
      await bench.publish('a');
      const { envelope } = (await bench.get('a')) ?? { envelope: '' };
      await bench.publish('a', { envelope: '[2,2]', onDuplicate: 'replace' });

      expect(await edit(bench, 'a', envelope)).toBe('changed');
      expect(await bench.get('a')).toMatchObject({ envelope: '[2,2]' });
    });

    it('does nothing to what does not wait', async ({ bench }) => {
      await bench.settled('dead', DEAD);
      await bench.deliver('in flight');
      const before = [await bench.get('dead'), await bench.get('in flight')];

      expect(await edit(bench, 'dead')).toBe('not-waiting');
      expect(await edit(bench, 'in flight')).toBe('not-waiting');
      expect(await edit(bench, 'nobody')).toBe('not-waiting');
      expect([await bench.get('dead'), await bench.get('in flight')]).toEqual(before);
    });

    it('repeated, gets the same answer and changes nothing', async ({ bench }) => {
      await bench.publish('a', { envelope: '[1,1]' });
      const call = bench.nextCall();
      expect(await edit(bench, 'a', '[1,1]', call)).toBe('edited');
      const another: CallId = { caller: 'another', sequence: 1 };
      await bench.publishAll([message('a', { envelope: '[1,1]', onDuplicate: 'replace' })], another);

      expect(await edit(bench, 'a', '[1,1]', call)).toBe('edited');
      expect(await bench.get('a')).toMatchObject({ envelope: '[1,1]' });
    });
  });

  describe('clear', () => {
    it('removes what waits, step by step, and counts it as cancelled', async ({ bench }) => {
      await bench.settled('dead', DEAD);
      const inFlight = await bench.deliver('in flight');
      await bench.settled('again', RETRY_LATER);
      const ids = Array.from({ length: 150 }, (_, i) => toStoredId(`m${i}`, 'key'));
      await bench.publishAll(ids.map((id) => message(id)));

      const steps = await clearAll(bench, 'scheduled');

      expect(steps).toEqual([100, 51]);
      const { counters, ...counts } = await bench.broker.stats(bench.partition);
      expect(counts).toMatchObject({ scheduled: 0, inFlight: 1, dead: 1, nextDueAt: undefined });
      expect(counters).toMatchObject({ cancelled: 151 });
      expect(await bench.settle(inFlight, ACK)).toBe('settled');
      expect(await bench.broker.locate(bench.partition, 'm0')).toEqual([]);
      expect(await bench.publish(ids[0] ?? '')).toMatchObject({ status: 'created' });
    });

    it('removes the first ones first', async ({ bench }) => {
      await bench.publishAll(Array.from({ length: 101 }, (_, i) => message(`m${i}`, { due: { at: 1000 - i } })));

      await bench.broker.clear(bench.partition, bench.nextCall(), 'scheduled');

      expect(await bench.get('m0')).toMatchObject({ at: 1000 });
      expect(await bench.broker.stats(bench.partition)).toMatchObject({ scheduled: 1 });
    });

    it('removes dead letters, with all that is known of them', async ({ bench }) => {
      for (const id of ['a', 'b']) await bench.settled(id, DEAD);
      await bench.publish('waits');

      expect(await clearAll(bench, 'dead')).toEqual([2]);

      const { counters, ...counts } = await bench.broker.stats(bench.partition);
      expect(counts).toMatchObject({ scheduled: 1, dead: 0 });
      expect(counters).toMatchObject({ died: 2, cancelled: 0 });
      await bench.publish('a');
      expect(await bench.get('a')).toMatchObject({ deliveries: 0, failure: undefined });
    });

    it('has nothing to do where nothing is', async ({ bench }) => {
      expect(await clearAll(bench, 'scheduled')).toEqual([0]);
      expect(await clearAll(bench, 'dead')).toEqual([0]);
    });

    it('repeated, gets the same answer and removes nothing more', async ({ bench }) => {
      await bench.publishAll(Array.from({ length: 150 }, (_, i) => message(`m${i}`)));
      const call = bench.nextCall();
      const first = await bench.broker.clear(bench.partition, call, 'scheduled');

      expect(first).toEqual({ removed: 100, more: true });
      expect(await bench.broker.clear(bench.partition, call, 'scheduled')).toEqual(first);
      expect(await bench.broker.stats(bench.partition)).toMatchObject({ scheduled: 50 });
    });
  });
}
