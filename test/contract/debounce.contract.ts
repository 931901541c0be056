import { describe, expect } from 'vitest';
import type { Receipt } from '../../lib/store/deliveries/receipt.js';
import type { NewMessage, PublishResult } from '../../lib/store/messages/publish.js';
import { toStoredId } from '../../lib/messages/stored-id.js';
import {
  type BrokerBed,
  type BrokerTest,
  ACK,
  DEAD,
  LONG,
  LONG_AGO,
  PUT_OFF,
  RELEASE,
  RETRY_LATER,
  message,
} from '../support/broker/broker-bed.js';

/** By how much the longest wait is longer than the delay: the second replace comes later than that. */
const MARGIN = 15;

/** Each publish is due later than its longest wait allows, once more time than {@link MARGIN} has passed. */
const DEBOUNCED = { due: { after: LONG }, onDuplicate: 'replace', maxWait: LONG + MARGIN } as const;

async function debounce(bed: BrokerBed, fields: Partial<NewMessage> = {}): Promise<PublishResult> {
  return bed.publish('a', { ...DEBOUNCED, ...fields });
}

/** Lets so much time pass that the delay of the next publish ends later than the longest wait of one before. */
async function pass(bed: BrokerBed): Promise<void> {
  await bed.advance(MARGIN + 5);
}

/** Expects that the count begins with the next replace: it is not limited by what was before, but limits those that follow. */
async function expectNewCount(bed: BrokerBed): Promise<void> {
  await pass(bed);
  const before = await bed.time();
  const first = await debounce(bed);
  expect(first.dueAt).toBeGreaterThanOrEqual(before + LONG);
  await pass(bed);
  expect(await debounce(bed)).toEqual({ status: 'replaced', dueAt: first.dueAt + MARGIN });
}

export function debounceContract(it: BrokerTest): void {
  describe('a longest wait', () => {
    it('limits the first publish too', async ({ bed }) => {
      const before = await bed.time();

      const { status, dueAt } = await debounce(bed, { maxWait: 50 });

      expect(status).toBe('created');
      expect(dueAt).toBeGreaterThanOrEqual(before + 50);
      expect(dueAt).toBeLessThanOrEqual(Math.ceil(await bed.time()) + 50);
      expect(await bed.get('a')).toMatchObject({ state: 'scheduled', at: dueAt, deliveries: 0, attempts: 0 });
    });

    it('of 0 is due at once', async ({ bed }) => {
      const { dueAt } = await debounce(bed, { maxWait: 0 });

      await bed.advance(1);
      expect(await bed.claimOne()).toMatchObject({ dueAt, delivery: 1, attempt: 1 });
    });

    it('leaves what is due before as it is', async ({ bed }) => {
      expect(await debounce(bed, { due: { at: LONG_AGO } })).toMatchObject({ status: 'created', dueAt: LONG_AGO });
      expect(await debounce(bed, { due: { at: 5 } })).toMatchObject({ status: 'replaced', dueAt: 5 });
      expect(await bed.claimOne()).toMatchObject({ dueAt: 5, delivery: 1, attempt: 1 });
    });

    it('holds for all replaces together, counted from the first publish; the latest message is delivered', async ({
      bed,
    }) => {
      const first = await debounce(bed, { envelope: '[1,1]' });
      await pass(bed);
      const limit = first.dueAt + MARGIN;

      for (const envelope of ['[2,2]', '[3,3]', '[4,4]']) {
        expect(await debounce(bed, { envelope })).toEqual({ status: 'replaced', dueAt: limit });
        expect(await bed.get('a')).toMatchObject({ state: 'scheduled', envelope, at: limit });
        await bed.advance(2);
      }
      expect(await bed.claim()).toMatchObject({ messages: [], nextAt: limit });
      await bed.broker.messages.runNow(bed.partition, bed.nextCall(), 'a');
      await bed.advance(1);
      expect(await bed.claimOne()).toMatchObject({ envelope: '[4,4]', delivery: 1, attempt: 1 });
    });

    it('may be another with each replace, and is counted from the same publish', async ({ bed }) => {
      const first = await debounce(bed);
      await pass(bed);

      expect((await debounce(bed, { maxWait: LONG + 5 })).dueAt).toBe(first.dueAt + 5);
      expect((await debounce(bed, { maxWait: LONG + 7 })).dueAt).toBe(first.dueAt + 7);
      expect((await debounce(bed, { maxWait: 1 })).dueAt).toBe(first.dueAt - LONG + 1);
    });

    it('that has passed long ago makes it due in the past, before what came later', async ({ bed }) => {
      const first = await debounce(bed, { maxWait: 1 });
      await pass(bed);
      await bed.publish('later', { due: { after: 0 } });

      expect((await debounce(bed, { maxWait: 1 })).dueAt).toBe(first.dueAt);
      await bed.advance(1);
      expect((await bed.claim()).messages.map(({ storedId }) => storedId)).toEqual(['a', 'later']);
    });

    it('does not limit a replace that has none, and is still counted from the first publish behind it', async ({
      bed,
    }) => {
      const first = await debounce(bed);
      await pass(bed);

      const free = await debounce(bed, { maxWait: undefined });
      expect(free.dueAt).toBeGreaterThan(first.dueAt + MARGIN);
      expect((await debounce(bed)).dueAt).toBe(first.dueAt + MARGIN);
    });

    it('is counted from the first publish that has one', async ({ bed }) => {
      await debounce(bed, { maxWait: undefined });
      await expectNewCount(bed);
    });

    it("is still counted from the first publish behind 'ignore', 'reject' and 'earliest'", async ({ bed }) => {
      const first = await debounce(bed);
      await pass(bed);

      for (const onDuplicate of ['ignore', 'reject', 'earliest'] as const) {
        await bed.publish('a', { due: { at: 5 }, onDuplicate });
      }
      expect(await bed.get('a')).toMatchObject({ at: 5 });
      expect((await debounce(bed)).dueAt).toBe(first.dueAt + MARGIN);
    });

    for (const outcome of [RETRY_LATER, PUT_OFF, RELEASE, DEAD]) {
      it(`counts anew behind a delivery that ended with ${outcome.kind}`, async ({ bed }) => {
        await debounce(bed, { due: { at: LONG_AGO } });
        await bed.settle(await bed.claimOne(), outcome);

        await expectNewCount(bed);
      });
    }

    it('counts anew when the message is gone', async ({ bed }) => {
      await debounce(bed, { due: { at: LONG_AGO } });
      await bed.settle(await bed.claimOne(), ACK);
      await expectNewCount(bed);
    });

    it('counts anew when the message was cancelled', async ({ bed }) => {
      await debounce(bed);
      await bed.cancel('a');
      await expectNewCount(bed);
    });

    it('counts anew when the message was cleared', async ({ bed }) => {
      await debounce(bed);
      await bed.broker.messages.clear(bed.partition, bed.nextCall(), 'scheduled');
      await expectNewCount(bed);
    });

    const ENDINGS: Readonly<Record<string, (bed: BrokerBed, running: Receipt, lease: number) => Promise<void>>> = {
      'its settle': async (bed, running) => {
        expect(await bed.settle(running, ACK)).toBe('settled');
      },
      'its lease': async (bed, _running, lease) => {
        await bed.advance(lease);
        expect((await bed.claim()).messages).toEqual([]);
      },
    };

    for (const [ending, end] of Object.entries(ENDINGS)) {
      it(`of what replaces a message in flight is a count of its own, and goes on behind ${ending}`, async ({
        bed,
      }) => {
        await debounce(bed, { due: { at: LONG_AGO } });
        const lease = ending === 'its lease' ? 3 * MARGIN : LONG;
        const running = await bed.claimOne({ lease });
        await bed.advance(1);
        const before = await bed.time();
        const first = await debounce(bed);
        expect(first).toMatchObject({ status: 'replaced' });
        expect(first.dueAt).toBeGreaterThanOrEqual(before + LONG);
        await pass(bed);
        const limit = first.dueAt + MARGIN;
        expect(await debounce(bed)).toEqual({ status: 'replaced', dueAt: limit });

        await end(bed, running, lease);

        expect(await bed.get('a')).toMatchObject({ state: 'scheduled', at: limit, deliveries: 0 });
        expect(await debounce(bed)).toEqual({ status: 'replaced', dueAt: limit });
      });
    }

    it('of what replaces a message in flight is forgotten with a cancel', async ({ bed }) => {
      await debounce(bed, { due: { at: LONG_AGO } });
      const running = await bed.claimOne();
      await debounce(bed);
      await bed.cancel('a');
      await bed.settle(running, ACK);

      expect(await bed.get('a')).toBeUndefined();
      await expectNewCount(bed);
    });

    it('counts anew behind a requeue', async ({ bed }) => {
      await debounce(bed, { due: { at: LONG_AGO } });
      await bed.settle(await bed.claimOne(), DEAD);
      const diedAt = (await bed.get('a'))?.at ?? NaN;
      await bed.broker.deadLetters.requeueDead(bed.partition, bed.nextCall(), [{ storedId: 'a', diedAt }], LONG);

      await expectNewCount(bed);
    });

    it('does not limit a reschedule, and is still counted from the first publish behind it', async ({ bed }) => {
      const first = await debounce(bed);
      const moved = first.dueAt + LONG;
      expect(await bed.reschedule('a', { at: moved })).toBe('moved');
      expect(await bed.get('a')).toMatchObject({ at: moved });
      await pass(bed);

      expect((await debounce(bed)).dueAt).toBe(first.dueAt + MARGIN);
    });

    it('is still counted from the first publish behind a run now and an edit', async ({ bed }) => {
      const first = await debounce(bed, { envelope: '[1,1]' });
      await bed.broker.messages.runNow(bed.partition, bed.nextCall(), 'a');
      await bed.broker.messages.edit(bed.partition, bed.nextCall(), {
        storedId: 'a',
        expected: '[1,1]',
        envelope: '[2,2]',
      });
      await pass(bed);

      expect((await debounce(bed)).dueAt).toBe(first.dueAt + MARGIN);
    });

    it('of each message in a call is its own', async ({ bed }) => {
      const keyed = toStoredId('id', 'key');
      const [old] = await bed.publishAll([message('old', DEBOUNCED), message('kept', { due: { at: 9 } })]);
      await pass(bed);
      const at = Math.ceil(await bed.time()) + LONG;

      const results = await bed.publishAll([
        message('new', { due: { at }, onDuplicate: 'impossible' }),
        message('old', { ...DEBOUNCED, due: { at } }),
        message('limited', { due: { at: 7 }, onDuplicate: 'replace', maxWait: LONG }),
        message('kept', { due: { at } }),
        message(keyed, { due: { at: 5 }, onDuplicate: 'replace', maxWait: 0 }),
        message('limited', { envelope: '[2,2]', due: { at: 8 }, onDuplicate: 'replace' }),
        message('plain', { due: { at } }),
        message('impossible', { due: { at: 6 }, onDuplicate: 'impossible', maxWait: LONG }),
      ]);

      expect(results).toEqual([
        { status: 'created', dueAt: at },
        { status: 'replaced', dueAt: (old?.dueAt ?? NaN) + MARGIN },
        { status: 'created', dueAt: 7 },
        { status: 'rejected', dueAt: 9 },
        { status: 'created', dueAt: 5 },
        { status: 'replaced', dueAt: 8 },
        { status: 'created', dueAt: at },
        { status: 'created', dueAt: 6 },
      ]);
      expect(await bed.broker.messages.locate(bed.partition, 'id')).toEqual([keyed]);
      expect(await bed.stats()).toMatchObject({ scheduled: 7, counters: { published: 9 } });
      const { messages } = await bed.claim();
      expect(messages.map(({ storedId, dueAt }) => [storedId, dueAt])).toEqual([
        [keyed, 5],
        ['impossible', 6],
        ['limited', 8],
        ['kept', 9],
      ]);
      expect(messages[2]).toMatchObject({ envelope: '[2,2]', delivery: 1, attempt: 1 });
    });

    it('is counted from the first of several publishes in one call', async ({ bed }) => {
      const results = await bed.publishAll([message('a', DEBOUNCED), message('a', { ...DEBOUNCED, maxWait: 1 })]);

      expect(results.map(({ status }) => status)).toEqual(['created', 'replaced']);
      const [first, second] = results.map(({ dueAt }) => dueAt);
      expect(second).toBe((first ?? NaN) - LONG + 1);
    });

    it('gives the repeat of a publish its answer, and moves nothing a second time', async ({ bed }) => {
      await debounce(bed);
      await pass(bed);
      const call = bed.nextCall();
      const messages = [message('a', DEBOUNCED), message('b', DEBOUNCED)];
      const first = await bed.publishAll(messages, call);
      const before = [await bed.get('a'), await bed.get('b')];
      await bed.advance(2);

      expect(await bed.publishAll(messages, call)).toEqual(first);
      expect([await bed.get('a'), await bed.get('b')]).toEqual(before);
    });
  });
}
