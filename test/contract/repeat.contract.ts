import { describe, expect } from 'vitest';
import type { CallId, NewMessage } from '../../lib/broker/broker.interface.js';
import { toStoredId } from '../../lib/messages/stored-id.js';
import {
  type Bench,
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

const POLICIES: readonly NewMessage['onDuplicate'][] = ['reject', 'ignore', 'replace'];

/** What the call of a test is known by; no call of the bench itself is. */
const CALL: CallId = { caller: 'producer', sequence: 77 };

/** Everything that a repeat could change. */
async function stateOf(bench: Bench, id = 'a'): Promise<unknown> {
  const { due: _changesWithTime, ...stats } = await bench.broker.stats(bench.partition);
  return { message: await bench.get(id), stats };
}

export function repeatContract(it: BrokerTest): void {
  describe('publish repeated, since its reply was lost', () => {
    it('gets the same answer and stores nothing twice', async ({ bench }) => {
      const messages = [
        message('a', { due: { after: LONG } }),
        message('b', { due: { at: 5 } }),
        message(toStoredId('c', 'key')),
      ];
      const first = await bench.publishAll(messages, CALL);
      const before = await stateOf(bench);
      await bench.advance(2);

      expect(await bench.publishAll(messages, CALL)).toEqual(first);
      expect(await bench.publishAll(messages, CALL)).toEqual(first);

      expect(await stateOf(bench)).toEqual(before);
      expect(await bench.broker.stats(bench.partition)).toMatchObject({ scheduled: 3, counters: { published: 3 } });
    });

    for (const policy of POLICIES) {
      it(`'${policy}': does not bring a message back to life that was handled meanwhile`, async ({ bench }) => {
        const messages = [message('a', { onDuplicate: policy })];
        const first = await bench.publishAll(messages, CALL);
        await bench.settle(await bench.claimOne(), ACK);

        expect(await bench.publishAll(messages, CALL)).toEqual(first);
        expect(await bench.get('a')).toBeUndefined();
      });

      it(`'${policy}': is no duplicate of itself while the message is in flight or dead`, async ({ bench }) => {
        const messages = [message('a', { onDuplicate: policy })];
        const first = await bench.publishAll(messages, CALL);
        const claimed = await bench.claimOne();
        const inFlight = await stateOf(bench);

        expect(await bench.publishAll(messages, CALL)).toEqual(first);
        expect(await stateOf(bench)).toEqual(inFlight);

        await bench.settle(claimed, DEAD);
        const dead = await stateOf(bench);
        expect(await bench.publishAll(messages, CALL)).toEqual(first);
        expect(await stateOf(bench)).toEqual(dead);
      });

      it(`'${policy}': gets the same answer where the id existed`, async ({ bench }) => {
        await bench.publish('a', { due: { at: 300 } });
        const messages = [message('a', { due: { after: LONG }, onDuplicate: policy })];
        const first = await bench.publishAll(messages, CALL);
        const before = await stateOf(bench);
        await bench.advance(2);

        expect(await bench.publishAll(messages, CALL)).toEqual(first);
        expect(await stateOf(bench)).toEqual(before);
      });
    }

    it('does not undo what others have done to the message meanwhile', async ({ bench }) => {
      const messages = [message('a', { onDuplicate: 'replace' })];
      await bench.publishAll(messages, CALL);
      await bench.publish('a', { envelope: '[2,"later"]', due: { at: 7 }, onDuplicate: 'replace' });

      await bench.publishAll(messages, CALL);

      expect(await bench.get('a')).toMatchObject({ envelope: '[2,"later"]', at: 7 });
    });

    it('replaces a message in flight once, however often it comes', async ({ bench }) => {
      const running = await bench.deliver('a');
      const messages = [message('a', { due: { at: 5 }, onDuplicate: 'replace' })];
      const first = await bench.publishAll(messages, CALL);
      expect(first).toEqual([{ status: 'replaced', dueAt: 5 }]);
      await bench.settle(running, ACK);
      await bench.settle(await bench.claimOne(), ACK);

      expect(await bench.publishAll(messages, CALL)).toEqual(first);
      expect((await bench.claim()).messages).toEqual([]);
    });
  });

  describe('a publish that is no repeat', () => {
    it('but the next call of its caller is carried out', async ({ bench }) => {
      const messages = [message('a')];
      await bench.publishAll(messages, CALL);

      expect(await bench.publishAll(messages, { ...CALL, sequence: CALL.sequence + 1 })).toEqual([
        { status: 'rejected', dueAt: LONG_AGO },
      ]);
    });

    it('but the call of another caller with the same number is carried out', async ({ bench }) => {
      const messages = [message('a')];
      await bench.publishAll(messages, CALL);

      expect(await bench.publishAll(messages, { ...CALL, caller: 'another' })).toMatchObject([{ status: 'rejected' }]);
    });

    it('but a call to another partition with the same number is carried out', async ({ bench }) => {
      const other = { ...bench.partition, index: 1 };
      await bench.publishAll([message('a')], CALL);

      expect(await bench.broker.publish(other, CALL, [message('a')])).toMatchObject([{ status: 'created' }]);
      expect(await bench.broker.get(other, 'a')).toMatchObject({ state: 'scheduled' });
    });

    it('is judged by its id, even if all else is equal', async ({ bench }) => {
      const twice = message('a');

      expect((await bench.publishAll([twice, twice])).map(({ status }) => status)).toEqual(['created', 'rejected']);
      expect((await bench.publishAll([twice])).map(({ status }) => status)).toEqual(['rejected']);
      expect(await bench.broker.stats(bench.partition)).toMatchObject({ scheduled: 1, counters: { published: 1 } });
    });
  });

  describe('cancel repeated, since its reply was lost', () => {
    it('is answered again that the message was cancelled', async ({ bench }) => {
      await bench.publish('a');

      expect(await bench.cancel('a', CALL)).toBe('cancelled');
      expect(await bench.cancel('a', CALL)).toBe('cancelled');
      expect((await bench.broker.stats(bench.partition)).counters.cancelled).toBe(1);
    });

    it('does not cancel a later message with the same id', async ({ bench }) => {
      await bench.publish('a');
      await bench.cancel('a', CALL);
      await bench.publish('a');

      expect(await bench.cancel('a', CALL)).toBe('cancelled');
      expect(await bench.get('a')).toMatchObject({ state: 'scheduled' });
    });

    it('does not cancel what has replaced the message meanwhile', async ({ bench }) => {
      const running = await bench.deliver('a');
      expect(await bench.cancel('a', CALL)).toBe('in-flight');
      await bench.publish('a', { envelope: '[2,"new"]', onDuplicate: 'replace' });

      expect(await bench.cancel('a', CALL)).toBe('in-flight');
      expect(await bench.settle(running, RETRY)).toBe('replaced');
      expect(await bench.get('a')).toMatchObject({ state: 'scheduled', envelope: '[2,"new"]' });
    });

    it('changes nothing where there was nothing', async ({ bench }) => {
      expect(await bench.cancel('a', CALL)).toBe('not-found');
      expect(await bench.cancel('a', CALL)).toBe('not-found');
    });

    it('is told from the next call', async ({ bench }) => {
      await bench.publishAll([message('a'), message('b')]);
      await bench.cancel('a', CALL);

      expect(await bench.cancel('b', { ...CALL, sequence: CALL.sequence + 1 })).toBe('cancelled');
      expect(await bench.get('b')).toBeUndefined();
    });
  });

  describe('reschedule repeated, since its reply was lost', () => {
    it('gets the same answer and moves nothing a second time', async ({ bench }) => {
      await bench.settled('a', RETRY_LATER);
      expect(await bench.reschedule('a', { after: 2 * LONG }, CALL)).toBe('rescheduled');
      const before = await stateOf(bench);
      await bench.advance(2);

      expect(await bench.reschedule('a', { after: 2 * LONG }, CALL)).toBe('rescheduled');
      expect(await bench.reschedule('a', { after: 2 * LONG }, CALL)).toBe('rescheduled');

      expect(await stateOf(bench)).toEqual(before);
    });

    it('does not undo that the message was moved again meanwhile', async ({ bench }) => {
      await bench.publish('a');
      await bench.reschedule('a', { at: 500 }, CALL);
      await bench.reschedule('a', { at: 900 });

      expect(await bench.reschedule('a', { at: 500 }, CALL)).toBe('rescheduled');
      expect(await bench.get('a')).toMatchObject({ at: 900 });
    });

    it('leaves a message alone that was delivered meanwhile, and its retry', async ({ bench }) => {
      await bench.publish('a', { due: { after: LONG } });
      await bench.reschedule('a', { at: 500 }, CALL);
      const claimed = await bench.claimOne();
      const inFlight = await stateOf(bench);

      expect(await bench.reschedule('a', { at: 500 }, CALL)).toBe('rescheduled');
      expect(await stateOf(bench)).toEqual(inFlight);

      await bench.settle(claimed, RETRY_LATER);
      const waiting = await stateOf(bench);
      expect(await bench.reschedule('a', { at: 500 }, CALL)).toBe('rescheduled');
      expect(await stateOf(bench)).toEqual(waiting);
    });

    it('does not move a later message with the same id', async ({ bench }) => {
      await bench.publish('a', { due: { after: LONG } });
      await bench.reschedule('a', { at: 500 }, CALL);
      await bench.settle(await bench.claimOne(), ACK);
      await bench.publish('a', { due: { at: 900 } });

      expect(await bench.reschedule('a', { at: 500 }, CALL)).toBe('rescheduled');
      expect(await bench.get('a')).toMatchObject({ at: 900 });
    });

    it('does not move a message that has come since there was none', async ({ bench }) => {
      expect(await bench.reschedule('a', { at: 500 }, CALL)).toBe('not-found');
      await bench.publish('a', { due: { at: 900 } });

      expect(await bench.reschedule('a', { at: 500 }, CALL)).toBe('not-found');
      expect(await bench.get('a')).toMatchObject({ at: 900 });
    });

    it('does not move a message that waits again since it was in flight', async ({ bench }) => {
      const claimed = await bench.deliver('a');
      expect(await bench.reschedule('a', { at: 500 }, CALL)).toBe('in-flight');
      await bench.settle(claimed, RELEASE);

      expect(await bench.reschedule('a', { at: 500 }, CALL)).toBe('in-flight');
      expect(await bench.get('a')).toMatchObject({ state: 'scheduled', at: LONG_AGO });
    });

    it('is told from the next call of its caller, be that a cancel or a reschedule', async ({ bench }) => {
      await bench.publishAll([message('a'), message('b')]);
      const [first, second, third, fourth] = [1, 2, 3, 4].map((sequence) => ({ ...CALL, sequence }));

      expect(await bench.reschedule('a', { at: 500 }, first)).toBe('rescheduled');
      expect(await bench.reschedule('a', { at: 600 }, second)).toBe('rescheduled');
      expect(await bench.get('a')).toMatchObject({ at: 600 });
      expect(await bench.cancel('a', third)).toBe('cancelled');
      expect(await bench.cancel('a', third)).toBe('cancelled');
      expect(await bench.reschedule('b', { at: 700 }, fourth)).toBe('rescheduled');
      expect(await bench.get('b')).toMatchObject({ at: 700 });
    });

    it('is told by caller and partition, too', async ({ bench }) => {
      const other = { ...bench.partition, index: 1 };
      await bench.publish('a');
      await bench.reschedule('a', { at: 500 }, CALL);

      expect(await bench.reschedule('a', { at: 600 }, { ...CALL, caller: 'another' })).toBe('rescheduled');
      expect(await bench.get('a')).toMatchObject({ at: 600 });
      expect(await bench.broker.reschedule(other, CALL, 'a', { at: 500 })).toBe('not-found');
    });
  });

  describe('settle repeated, since its reply was lost', () => {
    for (const outcome of OUTCOMES) {
      it(`${outcome.kind}: gets the same answer and changes nothing`, async ({ bench }) => {
        const claimed = await bench.deliver('a');
        const settlements = [
          [claimed, outcome],
          [{ storedId: 'unknown', token: 9 }, outcome],
        ] as const;
        const first = await bench.settleAll(settlements, CALL);
        const before = await stateOf(bench);
        await bench.advance(2);

        const second = await bench.settleAll(settlements, CALL);

        expect(first).toEqual(['settled', 'stale']);
        expect(second).toEqual(first);
        expect(await stateOf(bench)).toEqual(before);
      });
    }

    it('gets the same answer for cancelled messages', async ({ bench }) => {
      const claimed = await bench.deliver('a');
      await bench.cancel('a');

      expect(await bench.settleAll([[claimed, RETRY]], CALL)).toEqual(['cancelled']);
      expect(await bench.settleAll([[claimed, RETRY]], CALL)).toEqual(['cancelled']);
      expect((await bench.broker.stats(bench.partition)).counters).toMatchObject({ cancelled: 1, stale: 0 });
    });

    it('gets the same answer for replaced messages', async ({ bench }) => {
      const claimed = await bench.deliver('a');
      await bench.publish('a', { due: { at: 5 }, onDuplicate: 'replace' });

      expect(await bench.settleAll([[claimed, DEAD]], CALL)).toEqual(['replaced']);
      await bench.settle(await bench.claimOne(), ACK);
      expect(await bench.settleAll([[claimed, DEAD]], CALL)).toEqual(['replaced']);
      expect(await bench.get('a')).toBeUndefined();
    });

    it('does not touch a later delivery of the message', async ({ bench }) => {
      const settlements = [[await bench.deliver('a'), { kind: 'retry', delay: 0, failure: FAILURE }]] as const;
      await bench.settleAll(settlements, CALL);
      await bench.advance(1);
      const again = await bench.claimOne();

      expect(await bench.settleAll(settlements, CALL)).toEqual(['settled']);

      expect(await bench.get('a')).toMatchObject({ state: 'in-flight', attempts: 2 });
      expect(await bench.settle(again, ACK)).toBe('settled');
    });

    it('is told by caller, number and partition', async ({ bench }) => {
      const settlements = [[await bench.deliver('a'), RETRY_LATER]] as const;
      const other = { ...bench.partition, index: 1 };

      expect(await bench.settleAll(settlements, CALL)).toEqual(['settled']);
      expect(await bench.settleAll(settlements, { ...CALL, caller: 'another' })).toEqual(['stale']);
      expect(await bench.settleAll(settlements, CALL)).toEqual(['settled']);
      const unrelated = [{ storedId: 'a', token: 1, outcome: ACK }];
      expect(await bench.broker.settle(other, CALL, unrelated)).toEqual(['stale']);
      expect(await bench.settleAll(settlements, { ...CALL, sequence: CALL.sequence + 1 })).toEqual(['stale']);
    });
  });
}
