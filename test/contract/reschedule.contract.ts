import { describe, expect } from 'vitest';
import type { DueTime } from '../../lib/store/messages/publish.js';
import { toStoredId } from '../../lib/messages/stored-id.js';
import {
  type BrokerBed,
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
async function expectUnchanged(bed: BrokerBed, id: string, change: () => Promise<void>): Promise<void> {
  const look = async (): Promise<unknown> => [await bed.get(id), await bed.stats()];
  const before = await look();
  await change();
  expect(await look()).toEqual(before);
}

export function rescheduleContract(it: BrokerTest): void {
  describe('reschedule', () => {
    it('moves a message that waits to an earlier time', async ({ bed }) => {
      await bed.publish('a', { due: LATER });

      expect(await bed.reschedule('a', { at: 5 })).toBe('moved');

      expect(await bed.get('a')).toMatchObject({ state: 'scheduled', at: 5 });
      expect((await bed.claim()).messages).toMatchObject([{ storedId: 'a', dueAt: 5 }]);
    });

    it('moves and cancels only what still waits as it was seen, if that is asked for', async ({ bed }) => {
      await bed.publish('a', { due: { at: 5e12 } });
      const { envelope = '', at = 0 } = (await bed.get('a')) ?? {};
      const { broker, partition } = bed;
      const others = [
        { envelope: `${envelope} `, at },
        { envelope, at: at - 1 },
      ];
      for (const seen of others) {
        await expectUnchanged(bed, 'a', async () => {
          expect(await broker.messages.reschedule(partition, bed.nextCall(), 'a', { at: 6e12 }, seen)).toBe(
            'not-found',
          );
          expect(await broker.messages.cancel(partition, bed.nextCall(), 'a', seen)).toBe('not-found');
        });
      }
      const seen = { envelope, at };
      expect(await broker.messages.reschedule(partition, bed.nextCall(), 'a', { at: 6e12 }, seen)).toBe('moved');
      expect(await broker.messages.cancel(partition, bed.nextCall(), 'a', seen)).toBe('not-found');
      expect(await broker.messages.cancel(partition, bed.nextCall(), 'a', { envelope, at: 6e12 })).toBe('cancelled');

      await bed.publish('a');
      const due = await bed.get('a');
      await bed.claimOne();
      const flown = { envelope: due?.envelope ?? '', at: due?.at ?? 0 };
      expect(await broker.messages.reschedule(partition, bed.nextCall(), 'a', LATER, flown)).toBe('not-found');
      expect(await broker.messages.cancel(partition, bed.nextCall(), 'a', flown)).toBe('not-found');
    });

    it('moves a message that waits to a later time, and hands it out at the old one no more', async ({ bed }) => {
      await bed.publishAll([message('a', { due: { after: 2 } }), message('b', { due: { after: 3 } })]);

      expect(await bed.reschedule('a', LATER)).toBe('moved');

      await bed.advance(4);
      const { messages, nextAt } = await bed.claim();
      expect(messages.map(({ storedId }) => storedId)).toEqual(['b']);
      const a = await bed.get('a');
      expect(a).toMatchObject({ state: 'scheduled' });
      expect(nextAt).toBeLessThanOrEqual(a?.at ?? NaN);
    });

    it('moves a message that is due already, and has not been claimed', async ({ bed }) => {
      await bed.publish('a');

      expect(await bed.reschedule('a', LATER)).toBe('moved');

      const { messages, nextAt } = await bed.claim();
      expect(messages).toEqual([]);
      expect(nextAt).toBe((await bed.get('a'))?.at);
      expect(await bed.stats()).toMatchObject({ scheduled: 1, due: 0, nextDueAt: nextAt });
    });

    it('counts a delay from now, rounded up, not from the old time', async ({ bed }) => {
      await bed.publish('a', { due: { at: LONG_AGO } });

      const before = await bed.time();
      await bed.reschedule('a', { after: 50 });
      const after = await bed.time();

      const at = (await bed.get('a'))?.at ?? NaN;
      expect(Number.isInteger(at)).toBe(true);
      expect(at).toBeGreaterThanOrEqual(before + 50);
      expect(at).toBeLessThanOrEqual(Math.ceil(after) + 50);
    });

    it('takes a delay of 0 for due at once', async ({ bed }) => {
      await bed.publish('a', { due: LATER });
      await bed.reschedule('a', { after: 0 });
      await bed.advance(1);

      expect((await bed.claim()).messages).toMatchObject([{ storedId: 'a' }]);
    });

    it('takes a time as it is, be it the beginning of time or in ten years', async ({ bed }) => {
      await bed.publish('a');
      for (const at of [0, LONG_AGO, Math.ceil(await bed.time()) + 315_576_000_000]) {
        expect(await bed.reschedule('a', { at })).toBe('moved');
        expect(await bed.get('a')).toMatchObject({ at });
        expect((await bed.stats()).nextDueAt).toBe(at);
      }
    });

    it('takes the time that the message has already', async ({ bed }) => {
      await bed.publish('a', { due: { at: 500 } });
      await expectUnchanged(bed, 'a', async () => {
        expect(await bed.reschedule('a', { at: 500 })).toBe('moved');
      });
    });

    it('leaves all else of the message as it is, and counts nothing', async ({ bed }) => {
      await bed.publish('a', { due: { at: 500 } });
      const before = await bed.get('a');
      const { counters } = await bed.stats();

      await bed.reschedule('a', { at: 700 });

      expect(await bed.get('a')).toEqual({ ...before, at: 700 });
      expect((await bed.stats()).counters).toEqual(counters);
    });

    it('leaves the other messages alone', async ({ bed }) => {
      await bed.publishAll([message('a', { due: { at: 500 } }), message('b', { due: { at: 600 } })]);
      await expectUnchanged(bed, 'b', async () => {
        await bed.reschedule('a', { at: 400 });
        await bed.reschedule('a', { at: 500 });
      });
    });

    it('decides the order in which messages are claimed', async ({ bed }) => {
      await bed.publishAll(['a', 'b', 'c'].map((id, i) => message(id, { due: { at: 100 * i } })));
      await bed.reschedule('a', { at: 150 });
      await bed.reschedule('c', { at: 50 });

      const { messages } = await bed.claim();
      expect(messages.map(({ storedId, dueAt }) => [storedId, dueAt])).toEqual([
        ['c', 50],
        ['b', 100],
        ['a', 150],
      ]);
    });

    it('leaves the message to be replaced and cancelled as before', async ({ bed }) => {
      await bed.publish('a', { due: { at: 500 } });
      await bed.reschedule('a', { at: 600 });

      expect(await bed.publish('a')).toEqual({ status: 'rejected', dueAt: 600 });
      expect(await bed.publish('a', { due: { at: 700 }, onDuplicate: 'replace' })).toMatchObject({ dueAt: 700 });
      expect(await bed.reschedule('a', { at: 800 })).toBe('moved');
      expect(await bed.cancel('a')).toBe('cancelled');
      expect(await bed.reschedule('a', { at: 900 })).toBe('not-found');
      expect(await bed.claim()).toMatchObject({ messages: [], nextAt: undefined });
    });

    for (const [what, outcome, attempt] of [
      ['its retry', RETRY_LATER, 2],
      ['the end of its postponement', PUT_OFF, 1],
      ['its next delivery after it was given back', RELEASE, 1],
    ] as const) {
      it(`moves a message that waits for ${what}, with what was spent of it`, async ({ bed }) => {
        await bed.settled('a', outcome);
        const before = await bed.get('a');

        expect(await bed.reschedule('a', { at: 5 })).toBe('moved');

        expect(await bed.get('a')).toEqual({ ...before, at: 5 });
        expect(await bed.claimOne()).toMatchObject({ delivery: 2, attempt, dueAt: 5 });
      });
    }

    it('lets a delivery be given back to the time it was moved to', async ({ bed }) => {
      await bed.settled('a', RETRY_LATER);
      await bed.reschedule('a', { at: 5 });
      await bed.settle(await bed.claimOne(), RELEASE);

      expect(await bed.get('a')).toMatchObject({ state: 'scheduled', at: 5 });
    });

    it('does not bring an old receipt to life', async ({ bed }) => {
      const claimed = await bed.settled('a', RETRY_LATER);
      await bed.reschedule('a', { at: 5 });

      expect(await bed.settle(claimed, ACK)).toBe('stale');
      expect(await bed.broker.deliveries.extend(bed.partition, LONG, [claimed])).toEqual(['lost']);
      expect(await bed.get('a')).toMatchObject({ state: 'scheduled', at: 5 });
    });

    it('leaves a message in flight alone', async ({ bed }) => {
      const claimed = await bed.deliver('a');
      await expectUnchanged(bed, 'a', async () => {
        expect(await bed.reschedule('a', LATER)).toBe('in-flight');
      });

      expect(await bed.settle(claimed, ACK)).toBe('settled');
      expect(await bed.get('a')).toBeUndefined();
    });

    it('leaves a message in flight alone whose lease has ended', async ({ bed }) => {
      await bed.deliver('a', { lease: 2 });
      await bed.advance(3);

      expect(await bed.reschedule('a', LATER)).toBe('in-flight');
      expect(await bed.claimOne()).toMatchObject({ storedId: 'a', delivery: 2, dueAt: LONG_AGO });
    });

    it('leaves the mark of a message that was cancelled while in flight', async ({ bed }) => {
      const claimed = await bed.deliver('a');
      await bed.cancel('a');

      expect(await bed.reschedule('a', LATER)).toBe('in-flight');
      expect(await bed.settle(claimed, RETRY)).toBe('cancelled');
    });

    it('does not move what has replaced a message in flight until that has ended', async ({ bed }) => {
      const claimed = await bed.deliver('a');
      await bed.publish('a', { due: { at: 500 }, onDuplicate: 'replace' });

      expect(await bed.reschedule('a', { at: 300 })).toBe('in-flight');
      expect(await bed.settle(claimed, { kind: 'retry', delay: LONG, failure: FAILURE })).toBe('replaced');
      expect(await bed.get('a')).toMatchObject({ state: 'scheduled', at: 500 });
      expect(await bed.reschedule('a', { at: 300 })).toBe('moved');
    });

    it('does not take a dead letter', async ({ bed }) => {
      await bed.settled('a', DEAD);
      await expectUnchanged(bed, 'a', async () => {
        expect(await bed.reschedule('a', { at: 5 })).toBe('dead');
      });
    });

    it('finds nothing where nothing is', async ({ bed }) => {
      await bed.publish('other');
      const elsewhere = { ...bed.partition, index: 1 };

      expect(await bed.reschedule('a', LATER)).toBe('not-found');
      expect(await bed.broker.messages.reschedule(elsewhere, bed.nextCall(), 'other', LATER)).toBe('not-found');
      expect(await bed.get('a')).toBeUndefined();
      expect(await bed.get('other')).toMatchObject({ at: LONG_AGO });
      expect(await bed.broker.messages.stats(elsewhere)).toMatchObject({ scheduled: 0 });
    });

    it('finds a message that was handled no more', async ({ bed }) => {
      await bed.settled('a', ACK);

      expect(await bed.reschedule('a', LATER)).toBe('not-found');
      expect(await bed.get('a')).toBeUndefined();
    });

    it('leaves a message with the same id and another key alone', async ({ bed }) => {
      const keyed = toStoredId('id', 'key');
      await bed.publishAll([message('id', { due: { at: 500 } }), message(keyed, { due: { at: 500 } })]);

      expect(await bed.reschedule(keyed, { at: 700 })).toBe('moved');
      expect(await bed.get('id')).toMatchObject({ at: 500 });
      expect(await bed.get(keyed)).toMatchObject({ at: 700 });
      expect(await bed.broker.messages.locate(bed.partition, 'id')).toEqual([keyed]);
    });

    it('takes any character of an id as it is', async ({ bed }) => {
      for (const id of ['+5', '5', 'id with spaces', 'é\u{1F600}', '\u0001']) {
        await bed.publish(id);
        expect(await bed.reschedule(id, { at: 5 })).toBe('moved');
        expect(await bed.get(id)).toMatchObject({ at: 5 });
      }
    });
  });
}
