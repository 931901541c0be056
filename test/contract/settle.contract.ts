import { describe, expect } from 'vitest';
import { MAX_BATCH, type ClaimedMessage } from '../../lib/broker/broker.interface.js';
import { toStoredId } from '../../lib/messages/stored-id.js';
import {
  type BrokerTest,
  ACK,
  DEAD,
  DEAD_UNCALLED,
  FAILURE,
  LONG,
  LONG_AGO,
  OUTCOMES,
  PUT_OFF,
  RELEASE,
  RETRY,
  RETRY_LATER,
  message,
} from '../support/broker/broker-bed.js';

export function settleContract(it: BrokerTest): void {
  describe('settle', () => {
    it('ack: the message is gone', async ({ bench }) => {
      const claimed = await bench.deliver('a');

      expect(await bench.settle(claimed, ACK)).toBe('settled');

      expect(await bench.get('a')).toBeUndefined();
      expect(await bench.claim()).toMatchObject({ messages: [], nextAt: undefined });
      expect(await bench.broker.stats(bench.partition)).toMatchObject({ scheduled: 0, inFlight: 0, dead: 0 });
    });

    it('ack: nothing is left of a message with a key of its own', async ({ bench }) => {
      await bench.settled(toStoredId('id', 'key'), ACK);

      expect(await bench.broker.locate(bench.partition, 'id')).toEqual([]);
    });

    it('retry: delivers again after the delay, with the attempt spent', async ({ bench }) => {
      const first = await bench.deliver('a');
      const before = await bench.time();
      expect(await bench.settle(first, { kind: 'retry', delay: 20, failure: FAILURE })).toBe('settled');
      const after = await bench.time();

      const stored = await bench.get('a');
      expect(stored).toMatchObject({ state: 'scheduled', deliveries: 1, attempts: 1 });
      expect(stored?.at).toBeGreaterThanOrEqual(before + 20);
      expect(stored?.at).toBeLessThan(after + 21);

      let claimed: ClaimedMessage[];
      do {
        await bench.advance(1);
        ({ messages: claimed } = await bench.claim());
      } while (claimed.length === 0 && (await bench.time()) < after + 5000);
      expect(await bench.time()).toBeGreaterThanOrEqual(stored?.at ?? Infinity);
      expect(claimed).toEqual([{ ...first, token: 2, delivery: 2, attempt: 2, dueAt: stored?.at }]);
    });

    it('retry: keeps why the attempt failed, until the next failure', async ({ bench }) => {
      const claimed = await bench.deliver('a');
      const first = { reason: 'failed', name: 'TypeError', message: 'first', code: 'E1', stack: 'at x' } as const;
      await bench.settle(claimed, { kind: 'retry', delay: 0, failure: first });
      expect((await bench.get('a'))?.failure).toEqual(first);

      await bench.advance(1);
      const again = await bench.claimOne();
      expect((await bench.get('a'))?.failure).toEqual(first);
      await bench.settle(again, { kind: 'retry', delay: 0, failure: { ...FAILURE, lastError: first } });
      expect((await bench.get('a'))?.failure).toEqual({ ...FAILURE, lastError: first });
    });

    it('dead: keeps the envelope, the attempts and the failure, and is not delivered again', async ({ bench }) => {
      await bench.publish('a', { envelope: '[1,"kept"]' });
      const claimed = await bench.claimOne();
      const before = await bench.time();
      expect(await bench.settle(claimed, DEAD)).toBe('settled');

      const stored = await bench.get('a');
      expect(stored).toEqual({
        storedId: 'a',
        state: 'dead',
        envelope: '[1,"kept"]',
        at: expect.any(Number) as number,
        deliveries: 1,
        attempts: 1,
        failure: FAILURE,
        history: [],
      });
      expect(stored?.at).toBeGreaterThan(before - 1);
      expect(stored?.at).toBeLessThanOrEqual(await bench.time());
      expect(await bench.claim()).toMatchObject({ messages: [], nextAt: undefined });
    });

    it('dead, the handler not called: gives the attempt back, but not the delivery', async ({ bench }) => {
      const claimed = await bench.deliver('a');
      expect(await bench.settle(claimed, DEAD_UNCALLED)).toBe('settled');

      const failure = { ...FAILURE, reason: 'expired' };
      expect(await bench.get('a')).toMatchObject({ state: 'dead', deliveries: 1, attempts: 0, failure });
      expect((await bench.broker.stats(bench.partition)).counters).toMatchObject({ died: 1, retried: 0 });
      expect(await bench.claim()).toMatchObject({ messages: [], nextAt: undefined });
    });

    it('dead, the handler not called: keeps the attempts that were spent before', async ({ bench }) => {
      await bench.settled('a', RETRY);
      await bench.advance(1);
      await bench.settle(await bench.claimOne(), DEAD_UNCALLED);

      expect(await bench.get('a')).toMatchObject({ state: 'dead', deliveries: 2, attempts: 1 });
    });

    it('dead, the handler not called: of a message cancelled in flight, nothing is left', async ({ bench }) => {
      const claimed = await bench.deliver('a');
      await bench.cancel('a');

      expect(await bench.settle(claimed, DEAD_UNCALLED)).toBe('cancelled');
      expect(await bench.get('a')).toBeUndefined();
    });

    it('dead, the handler not called: comes back as a new message, with its whole budget', async ({ bench }) => {
      await bench.settled('a', DEAD_UNCALLED);
      await bench.publish('a', { envelope: '[2,"new"]', onDuplicate: 'replace' });

      expect(await bench.claimOne()).toMatchObject({ envelope: '[2,"new"]', token: 2, delivery: 1, attempt: 1 });
      expect(await bench.get('a')).toMatchObject({ state: 'in-flight', failure: undefined });
    });

    it('release: due again at once, as if it had not been delivered', async ({ bench }) => {
      const first = await bench.deliver('a');

      expect(await bench.settle(first, RELEASE)).toBe('settled');

      expect(await bench.get('a')).toMatchObject({ state: 'scheduled', at: LONG_AGO, deliveries: 1, attempts: 0 });
      expect(await bench.claimOne()).toEqual({ ...first, token: 2, delivery: 2, attempt: 1 });
    });

    it('release: keeps the attempts that were spent before', async ({ bench }) => {
      await bench.settled('a', RETRY);
      await bench.advance(1);
      const second = await bench.claimOne();
      await bench.settle(second, RELEASE);

      expect(await bench.claimOne()).toEqual({ ...second, token: 3, delivery: 3, attempt: 2 });
    });

    it('put off: due after the delay, without spending the attempt', async ({ bench }) => {
      const first = await bench.deliver('a');
      const before = await bench.time();
      expect(await bench.settle(first, { kind: 'put-off', delay: 10 })).toBe('settled');
      const stored = await bench.get('a');

      expect(stored).toMatchObject({ state: 'scheduled', deliveries: 1, attempts: 0 });
      expect(stored?.at).toBeGreaterThanOrEqual(before + 10);
      await bench.advance(11);
      expect(await bench.claimOne()).toEqual({ ...first, token: 2, delivery: 2, attempt: 1, dueAt: stored?.at });
    });

    it('put off: however often, no attempt is spent', async ({ bench }) => {
      let claimed = await bench.deliver('a');
      for (let i = 2; i < 6; i++) {
        await bench.settle(claimed, { kind: 'put-off', delay: 0 });
        await bench.advance(1);
        claimed = await bench.claimOne();
        expect(claimed).toMatchObject({ delivery: i, attempt: 1 });
      }
    });

    it('says when a message that went back is due', async ({ bench }) => {
      const claimed = await bench.deliver('a');
      await bench.settle(claimed, RETRY_LATER);

      expect((await bench.claim()).nextAt).toBe((await bench.get('a'))?.at);
    });

    for (const outcome of OUTCOMES) {
      it(`${outcome.kind}: of a message cancelled in flight, no retry follows`, async ({ bench }) => {
        const claimed = await bench.deliver('a');
        await bench.cancel('a');

        // A handler that finished all the same is done; everything else ends as cancelled.
        expect(await bench.settle(claimed, outcome)).toBe(outcome === ACK ? 'settled' : 'cancelled');

        expect(await bench.get('a')).toBeUndefined();
        expect(await bench.claim()).toMatchObject({ messages: [], nextAt: undefined });
        const { counters, dead, inFlight } = await bench.broker.stats(bench.partition);
        expect([dead, inFlight, counters.acked + counters.cancelled]).toEqual([0, 0, 1]);
        expect(counters.cancelled).toBe(outcome === ACK ? 0 : 1);
      });

      it(`${outcome.kind}: of a message replaced in flight, the new one begins with its whole budget`, async ({
        bench,
      }) => {
        await bench.settled('a', RETRY);
        await bench.advance(1);
        const claimed = await bench.claimOne();
        const at = Math.ceil(await bench.time()) + LONG;
        await bench.publish('a', { envelope: '[2,"new"]', due: { at }, onDuplicate: 'replace' });
        const before = (await bench.broker.stats(bench.partition)).counters;

        // What failed was the message before: its failure has no consequence.
        expect(await bench.settle(claimed, outcome)).toBe(outcome === ACK ? 'settled' : 'replaced');

        const acked = before.acked + (outcome === ACK ? 1 : 0);
        expect((await bench.broker.stats(bench.partition)).counters).toEqual({ ...before, acked });

        expect(await bench.get('a')).toMatchObject({
          state: 'scheduled',
          envelope: '[2,"new"]',
          at,
          attempts: 0,
          failure: undefined,
        });
        expect(await bench.claim()).toMatchObject({ messages: [], nextAt: at });
      });
    }

    it('a message replaced and then cancelled in flight is gone', async ({ bench }) => {
      const claimed = await bench.deliver('a');
      await bench.publish('a', { onDuplicate: 'replace' });
      await bench.cancel('a');

      expect(await bench.settle(claimed, RETRY)).toBe('cancelled');
      expect(await bench.get('a')).toBeUndefined();
    });

    it('settles many in one call, each with its outcome, and answers in their order', async ({ bench }) => {
      await bench.publishAll(['a', 'b', 'c', 'd', 'e'].map((id) => message(id)));
      const { messages } = await bench.claim();

      const statuses = await bench.settleAll([
        ...messages.map((claimed, i) => [claimed, OUTCOMES[i] ?? ACK] as const),
        [{ storedId: 'unknown', token: 1 }, ACK],
      ]);

      expect(statuses).toEqual(['settled', 'settled', 'settled', 'settled', 'settled', 'stale']);
      const states = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((id) => bench.get(id)));
      expect(states.map((stored) => stored?.state)).toEqual([undefined, 'scheduled', 'dead', 'scheduled', 'scheduled']);
    });

    it('settles as many as a call may have', async ({ bench }) => {
      await bench.publishAll(Array.from({ length: MAX_BATCH }, (_, i) => message(toStoredId(`id-${i}`, 'key'))));
      for (const outcome of [RELEASE, RETRY, ACK]) {
        await bench.advance(1);
        const { messages } = await bench.claim();
        const statuses = await bench.settleAll(messages.map((claimed) => [claimed, outcome]));
        expect(statuses).toEqual(Array.from({ length: MAX_BATCH }, () => 'settled'));
      }
      expect(await bench.broker.stats(bench.partition)).toMatchObject({ scheduled: 0, inFlight: 0, dead: 0 });
    });

    it('counts, whoever owns the partition by now', async ({ bench }) => {
      const claimed = await bench.deliver('a');
      await bench.broker.release(bench.partition, bench.owner);
      await bench.broker.acquire(bench.partition, 'heir', LONG);

      expect(await bench.settle(claimed, ACK)).toBe('settled');
      expect(await bench.get('a')).toBeUndefined();
    });

    it('counts after the lease has ended, as long as nobody else has the message', async ({ bench }) => {
      const claimed = await bench.deliver('a', { lease: 1 });
      await bench.advance(2);

      expect(await bench.settle(claimed, PUT_OFF)).toBe('settled');
      expect(await bench.get('a')).toMatchObject({ state: 'scheduled', attempts: 0 });
    });
  });
}
