import { describe, expect } from 'vitest';
import type { NewMessage } from '../../lib/store/messages/publish.js';
import type { CallId } from '../../lib/store/partition.js';
import { toStoredId } from '../../lib/messages/stored-id.js';
import {
  type BrokerBed,
  type BrokerTest,
  ACK,
  DEAD,
  FAILURE,
  LONG,
  LONG_AGO,
  OUTCOMES,
  RELEASE,
  RETRY,
  RETRY_LATER,
  message,
} from '../support/broker/broker-bed.js';

const POLICIES: readonly NewMessage['onDuplicate'][] = ['reject', 'ignore', 'replace', 'earliest'];

/** What the call of a test is known by; no call of the bed itself is. */
const CALL: CallId = { caller: 'producer', sequence: 77 };

/** Everything that a repeat could change. */
async function stateOf(bed: BrokerBed, id = 'a'): Promise<unknown> {
  const { due: _changesWithTime, ...stats } = await bed.stats();
  return { message: await bed.get(id), stats };
}

export function repeatContract(it: BrokerTest): void {
  describe('a copy of a call that comes after a later call of the same caller', () => {
    it.for<[name: string, call: (bed: BrokerBed, call: CallId) => Promise<unknown>]>([
      ['publish', async (bed, call) => bed.publishAll([message('a'), message('b')], call)],
      ['publish that replaces', async (bed, call) => bed.publishAll([message('a', { onDuplicate: 'replace' })], call)],
      ['cancel', async (bed, call) => bed.broker.messages.cancel(bed.partition, call, 'a')],
      ['reschedule', async (bed, call) => bed.broker.messages.reschedule(bed.partition, call, 'a', { after: LONG })],
      ['clear', async (bed, call) => bed.broker.messages.clear(bed.partition, call, 'scheduled')],
    ])('changes nothing: %s', async ([, call], { bed }) => {
      await bed.publishAll([message('a')], { ...CALL, sequence: CALL.sequence + 1 });
      const before = await stateOf(bed);

      await expect(call(bed, CALL)).rejects.toMatchObject({
        code: 'BROKER_UNAVAILABLE',
        transient: true,
        refused: false,
      });

      expect(await stateOf(bed)).toEqual(before);
    });
  });

  describe('publish repeated, since its reply was lost', () => {
    it('gets the same answer and stores nothing twice', async ({ bed }) => {
      const messages = [
        message('a', { due: { after: LONG } }),
        message('b', { due: { at: 5 } }),
        message(toStoredId('c', 'key')),
      ];
      const first = await bed.publishAll(messages, CALL);
      const before = await stateOf(bed);
      await bed.advance(2);

      expect(await bed.publishAll(messages, CALL)).toEqual(first);
      expect(await bed.publishAll(messages, CALL)).toEqual(first);

      expect(await stateOf(bed)).toEqual(before);
      expect(await bed.stats()).toMatchObject({ scheduled: 3, counters: { published: 3 } });
    });

    for (const policy of POLICIES) {
      it(`'${policy}': does not bring a message back to life that was handled meanwhile`, async ({ bed }) => {
        const messages = [message('a', { onDuplicate: policy })];
        const first = await bed.publishAll(messages, CALL);
        await bed.settle(await bed.claimOne(), ACK);

        expect(await bed.publishAll(messages, CALL)).toEqual(first);
        expect(await bed.get('a')).toBeUndefined();
      });

      it(`'${policy}': is no duplicate of itself while the message is in flight or dead`, async ({ bed }) => {
        const messages = [message('a', { onDuplicate: policy })];
        const first = await bed.publishAll(messages, CALL);
        const claimed = await bed.claimOne();
        const inFlight = await stateOf(bed);

        expect(await bed.publishAll(messages, CALL)).toEqual(first);
        expect(await stateOf(bed)).toEqual(inFlight);

        await bed.settle(claimed, DEAD);
        const dead = await stateOf(bed);
        expect(await bed.publishAll(messages, CALL)).toEqual(first);
        expect(await stateOf(bed)).toEqual(dead);
      });

      it(`'${policy}': gets the same answer where the id existed`, async ({ bed }) => {
        await bed.publish('a', { due: { at: 300 } });
        const messages = [message('a', { due: { after: LONG }, onDuplicate: policy })];
        const first = await bed.publishAll(messages, CALL);
        const before = await stateOf(bed);
        await bed.advance(2);

        expect(await bed.publishAll(messages, CALL)).toEqual(first);
        expect(await stateOf(bed)).toEqual(before);
      });
    }

    it('does not undo what others have done to the message meanwhile', async ({ bed }) => {
      const messages = [message('a', { onDuplicate: 'replace' })];
      await bed.publishAll(messages, CALL);
      await bed.publish('a', { envelope: '[2,"later"]', due: { at: 7 }, onDuplicate: 'replace' });

      await bed.publishAll(messages, CALL);

      expect(await bed.get('a')).toMatchObject({ envelope: '[2,"later"]', at: 7 });
    });

    it("'earliest': does not undo that the message was moved meanwhile", async ({ bed }) => {
      await bed.publish('a', { due: { at: 300 } });
      const messages = [message('a', { due: { at: 200 }, onDuplicate: 'earliest' })];
      const first = await bed.publishAll(messages, CALL);
      expect(first).toEqual([{ status: 'ignored', dueAt: 200 }]);
      await bed.reschedule('a', { at: 400 });

      expect(await bed.publishAll(messages, CALL)).toEqual(first);
      expect(await bed.get('a')).toMatchObject({ at: 400 });
    });

    it('replaces a message in flight once, however often it comes', async ({ bed }) => {
      const running = await bed.deliver('a');
      const messages = [message('a', { due: { at: 5 }, onDuplicate: 'replace' })];
      const first = await bed.publishAll(messages, CALL);
      expect(first).toEqual([{ status: 'replaced', dueAt: 5 }]);
      await bed.settle(running, ACK);
      await bed.settle(await bed.claimOne(), ACK);

      expect(await bed.publishAll(messages, CALL)).toEqual(first);
      expect((await bed.claim()).messages).toEqual([]);
    });
  });

  describe('a publish that is no repeat', () => {
    it('but the next call of its caller is carried out', async ({ bed }) => {
      const messages = [message('a')];
      await bed.publishAll(messages, CALL);

      expect(await bed.publishAll(messages, { ...CALL, sequence: CALL.sequence + 1 })).toEqual([
        { status: 'rejected', dueAt: LONG_AGO },
      ]);
    });

    it('but the call of another caller with the same number is carried out', async ({ bed }) => {
      const messages = [message('a')];
      await bed.publishAll(messages, CALL);

      expect(await bed.publishAll(messages, { ...CALL, caller: 'another' })).toMatchObject([{ status: 'rejected' }]);
    });

    it('but a call to another partition with the same number is carried out', async ({ bed }) => {
      const other = { ...bed.partition, index: 1 };
      await bed.publishAll([message('a')], CALL);

      expect(await bed.broker.messages.publish(other, CALL, [message('a')])).toMatchObject([{ status: 'created' }]);
      expect(await bed.broker.messages.get(other, 'a')).toMatchObject({ state: 'scheduled' });
    });

    it('is judged by its id, even if all else is equal', async ({ bed }) => {
      const twice = message('a');

      expect((await bed.publishAll([twice, twice])).map(({ status }) => status)).toEqual(['created', 'rejected']);
      expect((await bed.publishAll([twice])).map(({ status }) => status)).toEqual(['rejected']);
      expect(await bed.stats()).toMatchObject({ scheduled: 1, counters: { published: 1 } });
    });
  });

  describe('cancel repeated, since its reply was lost', () => {
    it('is answered again that the message was cancelled', async ({ bed }) => {
      await bed.publish('a');

      expect(await bed.cancel('a', CALL)).toBe('cancelled');
      expect(await bed.cancel('a', CALL)).toBe('cancelled');
      expect((await bed.stats()).counters.cancelled).toBe(1);
    });

    it('does not cancel a later message with the same id', async ({ bed }) => {
      await bed.publish('a');
      await bed.cancel('a', CALL);
      await bed.publish('a');

      expect(await bed.cancel('a', CALL)).toBe('cancelled');
      expect(await bed.get('a')).toMatchObject({ state: 'scheduled' });
    });

    it('does not cancel what has replaced the message meanwhile', async ({ bed }) => {
      const running = await bed.deliver('a');
      expect(await bed.cancel('a', CALL)).toBe('in-flight');
      await bed.publish('a', { envelope: '[2,"new"]', onDuplicate: 'replace' });

      expect(await bed.cancel('a', CALL)).toBe('in-flight');
      expect(await bed.settle(running, RETRY)).toBe('replaced');
      expect(await bed.get('a')).toMatchObject({ state: 'scheduled', envelope: '[2,"new"]' });
    });

    it('changes nothing where there was nothing', async ({ bed }) => {
      expect(await bed.cancel('a', CALL)).toBe('not-found');
      expect(await bed.cancel('a', CALL)).toBe('not-found');
    });

    it('is told from the next call', async ({ bed }) => {
      await bed.publishAll([message('a'), message('b')]);
      await bed.cancel('a', CALL);

      expect(await bed.cancel('b', { ...CALL, sequence: CALL.sequence + 1 })).toBe('cancelled');
      expect(await bed.get('b')).toBeUndefined();
    });
  });

  describe('reschedule repeated, since its reply was lost', () => {
    it('gets the same answer and moves nothing a second time', async ({ bed }) => {
      await bed.settled('a', RETRY_LATER);
      expect(await bed.reschedule('a', { after: 2 * LONG }, CALL)).toBe('moved');
      const before = await stateOf(bed);
      await bed.advance(2);

      expect(await bed.reschedule('a', { after: 2 * LONG }, CALL)).toBe('moved');
      expect(await bed.reschedule('a', { after: 2 * LONG }, CALL)).toBe('moved');

      expect(await stateOf(bed)).toEqual(before);
    });

    it('does not undo that the message was moved again meanwhile', async ({ bed }) => {
      await bed.publish('a');
      await bed.reschedule('a', { at: 500 }, CALL);
      await bed.reschedule('a', { at: 900 });

      expect(await bed.reschedule('a', { at: 500 }, CALL)).toBe('moved');
      expect(await bed.get('a')).toMatchObject({ at: 900 });
    });

    it('leaves a message alone that was delivered meanwhile, and its retry', async ({ bed }) => {
      await bed.publish('a', { due: { after: LONG } });
      await bed.reschedule('a', { at: 500 }, CALL);
      const claimed = await bed.claimOne();
      const inFlight = await stateOf(bed);

      expect(await bed.reschedule('a', { at: 500 }, CALL)).toBe('moved');
      expect(await stateOf(bed)).toEqual(inFlight);

      await bed.settle(claimed, RETRY_LATER);
      const waiting = await stateOf(bed);
      expect(await bed.reschedule('a', { at: 500 }, CALL)).toBe('moved');
      expect(await stateOf(bed)).toEqual(waiting);
    });

    it('does not move a later message with the same id', async ({ bed }) => {
      await bed.publish('a', { due: { after: LONG } });
      await bed.reschedule('a', { at: 500 }, CALL);
      await bed.settle(await bed.claimOne(), ACK);
      await bed.publish('a', { due: { at: 900 } });

      expect(await bed.reschedule('a', { at: 500 }, CALL)).toBe('moved');
      expect(await bed.get('a')).toMatchObject({ at: 900 });
    });

    it('does not move a message that has come since there was none', async ({ bed }) => {
      expect(await bed.reschedule('a', { at: 500 }, CALL)).toBe('not-found');
      await bed.publish('a', { due: { at: 900 } });

      expect(await bed.reschedule('a', { at: 500 }, CALL)).toBe('not-found');
      expect(await bed.get('a')).toMatchObject({ at: 900 });
    });

    it('does not move a message that waits again since it was in flight', async ({ bed }) => {
      const claimed = await bed.deliver('a');
      expect(await bed.reschedule('a', { at: 500 }, CALL)).toBe('in-flight');
      await bed.settle(claimed, RELEASE);

      expect(await bed.reschedule('a', { at: 500 }, CALL)).toBe('in-flight');
      expect(await bed.get('a')).toMatchObject({ state: 'scheduled', at: LONG_AGO });
    });

    it('is told from the next call of its caller, be that a cancel or a reschedule', async ({ bed }) => {
      await bed.publishAll([message('a'), message('b')]);
      const [first, second, third, fourth] = [1, 2, 3, 4].map((sequence) => ({ ...CALL, sequence }));

      expect(await bed.reschedule('a', { at: 500 }, first)).toBe('moved');
      expect(await bed.reschedule('a', { at: 600 }, second)).toBe('moved');
      expect(await bed.get('a')).toMatchObject({ at: 600 });
      expect(await bed.cancel('a', third)).toBe('cancelled');
      expect(await bed.cancel('a', third)).toBe('cancelled');
      expect(await bed.reschedule('b', { at: 700 }, fourth)).toBe('moved');
      expect(await bed.get('b')).toMatchObject({ at: 700 });
    });

    it('is told by caller and partition, too', async ({ bed }) => {
      const other = { ...bed.partition, index: 1 };
      await bed.publish('a');
      await bed.reschedule('a', { at: 500 }, CALL);

      expect(await bed.reschedule('a', { at: 600 }, { ...CALL, caller: 'another' })).toBe('moved');
      expect(await bed.get('a')).toMatchObject({ at: 600 });
      expect(await bed.broker.messages.reschedule(other, CALL, 'a', { at: 500 })).toBe('not-found');
    });
  });

  describe('settle repeated because its reply was lost', () => {
    for (const outcome of OUTCOMES) {
      it(`${outcome.kind}: gets the same answer and changes nothing`, async ({ bed }) => {
        const claimed = await bed.deliver('a');
        const settlements = [
          [claimed, outcome],
          [{ storedId: 'unknown', token: bed.token(9) }, outcome],
        ] as const;
        const first = await bed.settleAll(settlements, CALL);
        const before = await stateOf(bed);
        await bed.advance(2);

        const second = await bed.settleAll(settlements, CALL);

        expect(first).toEqual(['settled', 'stale']);
        expect(second).toEqual(first);
        expect(await stateOf(bed)).toEqual(before);
      });
    }

    it('gets the same answer for cancelled messages', async ({ bed }) => {
      const claimed = await bed.deliver('a');
      await bed.cancel('a');

      expect(await bed.settleAll([[claimed, RETRY]], CALL)).toEqual(['cancelled']);
      expect(await bed.settleAll([[claimed, RETRY]], CALL)).toEqual(['cancelled']);
      expect((await bed.stats()).counters).toMatchObject({ cancelled: 1, stale: 0 });
    });

    it('gets the same answer for replaced messages', async ({ bed }) => {
      const claimed = await bed.deliver('a');
      await bed.publish('a', { due: { at: 5 }, onDuplicate: 'replace' });

      expect(await bed.settleAll([[claimed, DEAD]], CALL)).toEqual(['replaced']);
      await bed.settle(await bed.claimOne(), ACK);
      expect(await bed.settleAll([[claimed, DEAD]], CALL)).toEqual(['replaced']);
      expect(await bed.get('a')).toBeUndefined();
    });

    it('does not touch a later delivery of the message', async ({ bed }) => {
      const settlements = [[await bed.deliver('a'), { kind: 'retry', delay: 0, failure: FAILURE }]] as const;
      await bed.settleAll(settlements, CALL);
      await bed.advance(1);
      const again = await bed.claimOne();

      expect(await bed.settleAll(settlements, CALL)).toEqual(['settled']);

      expect(await bed.get('a')).toMatchObject({ state: 'in-flight', attempts: 2 });
      expect(await bed.settle(again, ACK)).toBe('settled');
    });

    it('is told by caller, number and partition', async ({ bed }) => {
      const settlements = [[await bed.deliver('a'), RETRY_LATER]] as const;
      const other = { ...bed.partition, index: 1 };

      expect(await bed.settleAll(settlements, CALL)).toEqual(['settled']);
      expect(await bed.settleAll(settlements, { ...CALL, caller: 'another' })).toEqual(['stale']);
      expect(await bed.settleAll(settlements, CALL)).toEqual(['settled']);
      const unrelated = [{ storedId: 'a', token: bed.token(1), outcome: ACK }];
      expect(await bed.broker.deliveries.settle(other, CALL, unrelated)).toEqual(['stale']);
      expect(await bed.settleAll(settlements, { ...CALL, sequence: CALL.sequence + 1 })).toEqual(['stale']);
    });
  });
}
