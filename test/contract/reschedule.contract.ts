import { describe, expect } from 'vitest';
import type { DueTime } from '../../lib/broker/broker.interface.js';
import { toStoredId } from '../../lib/messages/stored-id.js';
import {
  type Bench,
  type BrokerTest,
  ACK,
  DEAD,
  FAILURE,
  LONG,
  LONG_AGO,
  PUT_OFF,
  RELEASE,
  RETRY,
  RETRY_LATER,
  message,
} from '../support/broker/broker-bed.js';

const LATER: DueTime = { after: LONG };

/** Expects that what `change` does is answered, and changes neither the message nor what the partition counts. */
async function expectUnchanged(bench: Bench, id: string, change: () => Promise<void>): Promise<void> {
  const look = async (): Promise<unknown> => [await bench.get(id), await bench.broker.stats(bench.partition)];
  const before = await look();
  await change();
  expect(await look()).toEqual(before);
}

export function rescheduleContract(it: BrokerTest): void {
  describe('reschedule', () => {
    it('moves a message that waits to an earlier time', async ({ bench }) => {
      await bench.publish('a', { due: LATER });

      expect(await bench.reschedule('a', { at: 5 })).toBe('rescheduled');

      expect(await bench.get('a')).toMatchObject({ state: 'scheduled', at: 5 });
      expect((await bench.claim()).messages).toMatchObject([{ storedId: 'a', dueAt: 5 }]);
    });

    it('moves a message that waits to a later time, and hands it out at the old one no more', async ({ bench }) => {
      await bench.publishAll([message('a', { due: { after: 2 } }), message('b', { due: { after: 3 } })]);

      expect(await bench.reschedule('a', LATER)).toBe('rescheduled');

      await bench.advance(4);
      const { messages, nextAt } = await bench.claim();
      expect(messages.map(({ storedId }) => storedId)).toEqual(['b']);
      const a = await bench.get('a');
      expect(a).toMatchObject({ state: 'scheduled' });
      expect(nextAt).toBeLessThanOrEqual(a?.at ?? NaN);
    });

    it('moves a message that is due already, and has not been claimed', async ({ bench }) => {
      await bench.publish('a');

      expect(await bench.reschedule('a', LATER)).toBe('rescheduled');

      const { messages, nextAt } = await bench.claim();
      expect(messages).toEqual([]);
      expect(nextAt).toBe((await bench.get('a'))?.at);
      expect(await bench.broker.stats(bench.partition)).toMatchObject({ scheduled: 1, due: 0, nextDueAt: nextAt });
    });

    it('counts a delay from now, rounded up, not from the old time', async ({ bench }) => {
      await bench.publish('a', { due: { at: LONG_AGO } });

      const before = await bench.time();
      await bench.reschedule('a', { after: 50 });
      const after = await bench.time();

      const at = (await bench.get('a'))?.at ?? NaN;
      expect(Number.isInteger(at)).toBe(true);
      expect(at).toBeGreaterThanOrEqual(before + 50);
      expect(at).toBeLessThanOrEqual(Math.ceil(after) + 50);
    });

    it('takes a delay of 0 for due at once', async ({ bench }) => {
      await bench.publish('a', { due: LATER });
      await bench.reschedule('a', { after: 0 });
      await bench.advance(1);

      expect((await bench.claim()).messages).toMatchObject([{ storedId: 'a' }]);
    });

    it('takes a time as it is, be it the beginning of time or in ten years', async ({ bench }) => {
      await bench.publish('a');
      for (const at of [0, LONG_AGO, Math.ceil(await bench.time()) + 315_576_000_000]) {
        expect(await bench.reschedule('a', { at })).toBe('rescheduled');
        expect(await bench.get('a')).toMatchObject({ at });
        expect((await bench.broker.stats(bench.partition)).nextDueAt).toBe(at);
      }
    });

    it('takes the time that the message has already', async ({ bench }) => {
      await bench.publish('a', { due: { at: 500 } });
      await expectUnchanged(bench, 'a', async () => {
        expect(await bench.reschedule('a', { at: 500 })).toBe('rescheduled');
      });
    });

    it('leaves all else of the message as it is, and counts nothing', async ({ bench }) => {
      await bench.publish('a', { due: { at: 500 } });
      const before = await bench.get('a');
      const { counters } = await bench.broker.stats(bench.partition);

      await bench.reschedule('a', { at: 700 });

      expect(await bench.get('a')).toEqual({ ...before, at: 700 });
      expect((await bench.broker.stats(bench.partition)).counters).toEqual(counters);
    });

    it('leaves the other messages alone', async ({ bench }) => {
      await bench.publishAll([message('a', { due: { at: 500 } }), message('b', { due: { at: 600 } })]);
      await expectUnchanged(bench, 'b', async () => {
        await bench.reschedule('a', { at: 400 });
        await bench.reschedule('a', { at: 500 });
      });
    });

    it('decides the order in which messages are claimed', async ({ bench }) => {
      await bench.publishAll(['a', 'b', 'c'].map((id, i) => message(id, { due: { at: 100 * i } })));
      await bench.reschedule('a', { at: 150 });
      await bench.reschedule('c', { at: 50 });

      const { messages } = await bench.claim();
      expect(messages.map(({ storedId, dueAt }) => [storedId, dueAt])).toEqual([
        ['c', 50],
        ['b', 100],
        ['a', 150],
      ]);
    });

    it('leaves the message to be replaced and cancelled as before', async ({ bench }) => {
      await bench.publish('a', { due: { at: 500 } });
      await bench.reschedule('a', { at: 600 });

      expect(await bench.publish('a')).toEqual({ status: 'rejected', dueAt: 600 });
      expect(await bench.publish('a', { due: { at: 700 }, onDuplicate: 'replace' })).toMatchObject({ dueAt: 700 });
      expect(await bench.reschedule('a', { at: 800 })).toBe('rescheduled');
      expect(await bench.cancel('a')).toBe('cancelled');
      expect(await bench.reschedule('a', { at: 900 })).toBe('not-found');
      expect(await bench.claim()).toMatchObject({ messages: [], nextAt: undefined });
    });

    for (const [what, outcome, attempt] of [
      ['its retry', RETRY_LATER, 2],
      ['the end of its putting off', PUT_OFF, 1],
      ['its next delivery, since it was given back', RELEASE, 1],
    ] as const) {
      it(`moves a message that waits for ${what}, with what was spent of it`, async ({ bench }) => {
        await bench.settled('a', outcome);
        const before = await bench.get('a');

        expect(await bench.reschedule('a', { at: 5 })).toBe('rescheduled');

        expect(await bench.get('a')).toEqual({ ...before, at: 5 });
        expect(await bench.claimOne()).toMatchObject({ delivery: 2, attempt, dueAt: 5 });
      });
    }

    it('lets a delivery be given back to the time it was moved to', async ({ bench }) => {
      await bench.settled('a', RETRY_LATER);
      await bench.reschedule('a', { at: 5 });
      await bench.settle(await bench.claimOne(), RELEASE);

      expect(await bench.get('a')).toMatchObject({ state: 'scheduled', at: 5 });
    });

    it('does not bring an old receipt to life', async ({ bench }) => {
      const claimed = await bench.settled('a', RETRY_LATER);
      await bench.reschedule('a', { at: 5 });

      expect(await bench.settle(claimed, ACK)).toBe('stale');
      expect(await bench.broker.extend(bench.partition, LONG, [claimed])).toEqual(['lost']);
      expect(await bench.get('a')).toMatchObject({ state: 'scheduled', at: 5 });
    });

    it('leaves a message in flight alone', async ({ bench }) => {
      const claimed = await bench.deliver('a');
      await expectUnchanged(bench, 'a', async () => {
        expect(await bench.reschedule('a', LATER)).toBe('in-flight');
      });

      expect(await bench.settle(claimed, ACK)).toBe('settled');
      expect(await bench.get('a')).toBeUndefined();
    });

    it('leaves a message in flight alone whose lease has ended', async ({ bench }) => {
      await bench.deliver('a', { lease: 2 });
      await bench.advance(3);

      expect(await bench.reschedule('a', LATER)).toBe('in-flight');
      expect(await bench.claimOne()).toMatchObject({ storedId: 'a', delivery: 2, dueAt: LONG_AGO });
    });

    it('leaves the mark of a message that was cancelled while in flight', async ({ bench }) => {
      const claimed = await bench.deliver('a');
      await bench.cancel('a');

      expect(await bench.reschedule('a', LATER)).toBe('in-flight');
      expect(await bench.settle(claimed, RETRY)).toBe('cancelled');
    });

    it('does not move what has replaced a message in flight until that has ended', async ({ bench }) => {
      const claimed = await bench.deliver('a');
      await bench.publish('a', { due: { at: 500 }, onDuplicate: 'replace' });

      expect(await bench.reschedule('a', { at: 300 })).toBe('in-flight');
      expect(await bench.settle(claimed, { kind: 'retry', delay: LONG, failure: FAILURE })).toBe('replaced');
      expect(await bench.get('a')).toMatchObject({ state: 'scheduled', at: 500 });
      expect(await bench.reschedule('a', { at: 300 })).toBe('rescheduled');
    });

    it('does not take a dead letter', async ({ bench }) => {
      await bench.settled('a', DEAD);
      await expectUnchanged(bench, 'a', async () => {
        expect(await bench.reschedule('a', { at: 5 })).toBe('not-found');
      });
    });

    it('finds nothing where nothing is', async ({ bench }) => {
      await bench.publish('other');
      const elsewhere = { ...bench.partition, index: 1 };

      expect(await bench.reschedule('a', LATER)).toBe('not-found');
      expect(await bench.broker.reschedule(elsewhere, bench.nextCall(), 'other', LATER)).toBe('not-found');
      expect(await bench.get('a')).toBeUndefined();
      expect(await bench.get('other')).toMatchObject({ at: LONG_AGO });
      expect(await bench.broker.stats(elsewhere)).toMatchObject({ scheduled: 0 });
    });

    it('finds a message that was handled no more', async ({ bench }) => {
      await bench.settled('a', ACK);

      expect(await bench.reschedule('a', LATER)).toBe('not-found');
      expect(await bench.get('a')).toBeUndefined();
    });

    it('leaves a message with the same id and another key alone', async ({ bench }) => {
      const keyed = toStoredId('id', 'key');
      await bench.publishAll([message('id', { due: { at: 500 } }), message(keyed, { due: { at: 500 } })]);

      expect(await bench.reschedule(keyed, { at: 700 })).toBe('rescheduled');
      expect(await bench.get('id')).toMatchObject({ at: 500 });
      expect(await bench.get(keyed)).toMatchObject({ at: 700 });
      expect(await bench.broker.locate(bench.partition, 'id')).toEqual([keyed]);
    });

    it('takes any character of an id as it is', async ({ bench }) => {
      for (const id of ['+5', '5', 'id with spaces', 'é\u{1F600}', '\u0001']) {
        await bench.publish(id);
        expect(await bench.reschedule(id, { at: 5 })).toBe('rescheduled');
        expect(await bench.get(id)).toMatchObject({ at: 5 });
      }
    });
  });
}
