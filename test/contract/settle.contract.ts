import { describe, expect } from 'vitest';
import type { ClaimedMessage } from '../../lib/store/deliveries/claim.js';
import { epochOf, ownerOf } from '../../lib/store/fleet/owner.js';
import { MAX_BATCH } from '../../lib/store/partition.js';
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
    it('ack: the message is gone', async ({ bed }) => {
      const claimed = await bed.deliver('a');

      expect(await bed.settle(claimed, ACK)).toBe('settled');

      expect(await bed.get('a')).toBeUndefined();
      expect(await bed.claim()).toMatchObject({ messages: [], nextAt: undefined });
      expect(await bed.stats()).toMatchObject({ scheduled: 0, inFlight: 0, dead: 0 });
    });

    it('ack: nothing is left of a message with a key of its own', async ({ bed }) => {
      await bed.settled(toStoredId('id', 'key'), ACK);

      expect(await bed.broker.messages.locate(bed.partition, 'id')).toEqual([]);
    });

    it('retry: delivers again after the delay, with the attempt spent', async ({ bed }) => {
      const first = await bed.deliver('a');
      const before = await bed.time();
      expect(await bed.settle(first, { kind: 'retry', delay: 20, failure: FAILURE })).toBe('settled');
      const after = await bed.time();

      const stored = await bed.get('a');
      expect(stored).toMatchObject({ state: 'scheduled', deliveries: 1, attempts: 1 });
      expect(stored?.at).toBeGreaterThanOrEqual(before + 20);
      expect(stored?.at).toBeLessThan(after + 21);

      let claimed: ClaimedMessage[];
      do {
        await bed.advance(1);
        ({ messages: claimed } = await bed.claim());
      } while (claimed.length === 0 && (await bed.time()) < after + 5000);
      expect(await bed.time()).toBeGreaterThanOrEqual(stored?.at ?? Infinity);
      expect(claimed).toEqual([{ ...first, token: bed.token(2), delivery: 2, attempt: 2, dueAt: stored?.at }]);
    });

    it('retry: keeps why the attempt failed, until the next failure', async ({ bed }) => {
      const claimed = await bed.deliver('a');
      const first = { reason: 'failed', name: 'TypeError', message: 'first', code: 'E1', stack: 'at x' } as const;
      await bed.settle(claimed, { kind: 'retry', delay: 0, failure: first });
      expect((await bed.get('a'))?.failure).toEqual(first);

      await bed.advance(1);
      const again = await bed.claimOne();
      expect((await bed.get('a'))?.failure).toEqual(first);
      await bed.settle(again, { kind: 'retry', delay: 0, failure: { ...FAILURE, lastError: first } });
      expect((await bed.get('a'))?.failure).toEqual({ ...FAILURE, lastError: first });
    });

    it('dead: keeps the envelope, the attempts and the failure, and is not delivered again', async ({ bed }) => {
      await bed.publish('a', { envelope: '[1,"kept"]' });
      const claimed = await bed.claimOne();
      const before = await bed.time();
      expect(await bed.settle(claimed, DEAD)).toBe('settled');

      const stored = await bed.get('a');
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
      expect(stored?.at).toBeLessThanOrEqual(await bed.time());
      expect(await bed.claim()).toMatchObject({ messages: [], nextAt: undefined });
    });

    it('dead, the handler not called: gives the attempt back, but not the delivery', async ({ bed }) => {
      const claimed = await bed.deliver('a');
      expect(await bed.settle(claimed, DEAD_UNCALLED)).toBe('settled');

      const failure = { ...FAILURE, reason: 'expired' };
      expect(await bed.get('a')).toMatchObject({ state: 'dead', deliveries: 1, attempts: 0, failure });
      expect((await bed.stats()).counters).toMatchObject({ died: 1, retried: 0 });
      expect(await bed.claim()).toMatchObject({ messages: [], nextAt: undefined });
    });

    it('dead, the handler not called: keeps the attempts that were spent before', async ({ bed }) => {
      await bed.settled('a', RETRY);
      await bed.advance(1);
      await bed.settle(await bed.claimOne(), DEAD_UNCALLED);

      expect(await bed.get('a')).toMatchObject({ state: 'dead', deliveries: 2, attempts: 1 });
    });

    it('dead, the handler not called: of a message cancelled in flight, nothing is left', async ({ bed }) => {
      const claimed = await bed.deliver('a');
      await bed.cancel('a');

      expect(await bed.settle(claimed, DEAD_UNCALLED)).toBe('cancelled');
      expect(await bed.get('a')).toBeUndefined();
    });

    it('dead, the handler not called: comes back as a new message, with its whole budget', async ({ bed }) => {
      await bed.settled('a', DEAD_UNCALLED);
      await bed.publish('a', { envelope: '[2,"new"]', onDuplicate: 'replace' });

      expect(await bed.claimOne()).toMatchObject({
        envelope: '[2,"new"]',
        token: bed.token(2),
        delivery: 1,
        attempt: 1,
      });
      expect(await bed.get('a')).toMatchObject({ state: 'in-flight', failure: undefined });
    });

    it('release: due again at once, as if it had not been delivered', async ({ bed }) => {
      const first = await bed.deliver('a');

      expect(await bed.settle(first, RELEASE)).toBe('settled');

      expect(await bed.get('a')).toMatchObject({ state: 'scheduled', at: LONG_AGO, deliveries: 1, attempts: 0 });
      expect(await bed.claimOne()).toEqual({ ...first, token: bed.token(2), delivery: 2, attempt: 1 });
    });

    it('release: keeps the attempts that were spent before', async ({ bed }) => {
      await bed.settled('a', RETRY);
      await bed.advance(1);
      const second = await bed.claimOne();
      await bed.settle(second, RELEASE);

      expect(await bed.claimOne()).toEqual({ ...second, token: bed.token(3), delivery: 3, attempt: 2 });
    });

    it('put off: due after the delay, without spending the attempt', async ({ bed }) => {
      const first = await bed.deliver('a');
      const before = await bed.time();
      expect(await bed.settle(first, { kind: 'put-off', delay: 10 })).toBe('settled');
      const stored = await bed.get('a');

      expect(stored).toMatchObject({ state: 'scheduled', deliveries: 1, attempts: 0 });
      expect(stored?.at).toBeGreaterThanOrEqual(before + 10);
      await bed.advance(11);
      expect(await bed.claimOne()).toEqual({
        ...first,
        token: bed.token(2),
        delivery: 2,
        attempt: 1,
        dueAt: stored?.at,
      });
    });

    it('put off: however often, no attempt is spent', async ({ bed }) => {
      let claimed = await bed.deliver('a');
      for (let i = 2; i < 6; i++) {
        await bed.settle(claimed, { kind: 'put-off', delay: 0 });
        await bed.advance(1);
        claimed = await bed.claimOne();
        expect(claimed).toMatchObject({ delivery: i, attempt: 1 });
      }
    });

    it('says when a message that went back is due', async ({ bed }) => {
      const claimed = await bed.deliver('a');
      await bed.settle(claimed, RETRY_LATER);

      expect((await bed.claim()).nextAt).toBe((await bed.get('a'))?.at);
    });

    for (const outcome of OUTCOMES) {
      it(`${outcome.kind}: of a message cancelled in flight, no retry follows`, async ({ bed }) => {
        const claimed = await bed.deliver('a');
        await bed.cancel('a');

        // A handler that finished all the same is done; everything else ends as cancelled.
        expect(await bed.settle(claimed, outcome)).toBe(outcome === ACK ? 'settled' : 'cancelled');

        expect(await bed.get('a')).toBeUndefined();
        expect(await bed.claim()).toMatchObject({ messages: [], nextAt: undefined });
        const { counters, dead, inFlight } = await bed.stats();
        expect([dead, inFlight, counters.acked + counters.cancelled]).toEqual([0, 0, 1]);
        expect(counters.cancelled).toBe(outcome === ACK ? 0 : 1);
      });

      it(`${outcome.kind}: of a message replaced in flight, the new one begins with its whole budget`, async ({
        bed,
      }) => {
        await bed.settled('a', RETRY);
        await bed.advance(1);
        const claimed = await bed.claimOne();
        const at = Math.ceil(await bed.time()) + LONG;
        await bed.publish('a', { envelope: '[2,"new"]', due: { at }, onDuplicate: 'replace' });
        const before = (await bed.stats()).counters;

        // What failed was the message before: its failure has no consequence.
        expect(await bed.settle(claimed, outcome)).toBe(outcome === ACK ? 'settled' : 'replaced');

        const acked = before.acked + (outcome === ACK ? 1 : 0);
        expect((await bed.stats()).counters).toEqual({ ...before, acked });

        expect(await bed.get('a')).toMatchObject({
          state: 'scheduled',
          envelope: '[2,"new"]',
          at,
          attempts: 0,
          failure: undefined,
        });
        expect(await bed.claim()).toMatchObject({ messages: [], nextAt: at });
      });
    }

    it('a message replaced and then cancelled in flight is gone', async ({ bed }) => {
      const claimed = await bed.deliver('a');
      await bed.publish('a', { onDuplicate: 'replace' });
      await bed.cancel('a');

      expect(await bed.settle(claimed, RETRY)).toBe('cancelled');
      expect(await bed.get('a')).toBeUndefined();
    });

    it('settles many in one call, each with its outcome, and answers in their order', async ({ bed }) => {
      await bed.publishAll(['a', 'b', 'c', 'd', 'e'].map((id) => message(id)));
      const { messages } = await bed.claim();

      const statuses = await bed.settleAll([
        ...messages.map((claimed, i) => [claimed, OUTCOMES[i] ?? ACK] as const),
        [{ storedId: 'unknown', token: bed.token(1) }, ACK],
      ]);

      expect(statuses).toEqual(['settled', 'settled', 'settled', 'settled', 'settled', 'stale']);
      const states = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((id) => bed.get(id)));
      expect(states.map((stored) => stored?.state)).toEqual([undefined, 'scheduled', 'dead', 'scheduled', 'scheduled']);
    });

    it('settles as many as a call may have', async ({ bed }) => {
      await bed.publishAll(Array.from({ length: MAX_BATCH }, (_, i) => message(toStoredId(`id-${i}`, 'key'))));
      for (const outcome of [RELEASE, RETRY, ACK]) {
        await bed.advance(1);
        const { messages } = await bed.claim();
        const statuses = await bed.settleAll(messages.map((claimed) => [claimed, outcome]));
        expect(statuses).toEqual(Array.from({ length: MAX_BATCH }, () => 'settled'));
      }
      expect(await bed.stats()).toMatchObject({ scheduled: 0, inFlight: 0, dead: 0 });
    });

    it('counts, whoever owns the partition by now', async ({ bed }) => {
      const claimed = await bed.deliver('a');
      await bed.broker.fleet.release(bed.partition, bed.owner);
      const heir = ownerOf('heirs-epoch', 'heir');
      expect(await bed.broker.fleet.acquire(bed.partition, heir, epochOf(bed.owner))).toEqual({ acquired: true });

      expect(await bed.settle(claimed, ACK)).toBe('settled');
      expect(await bed.get('a')).toBeUndefined();
    });

    it('counts after the lease has ended, as long as nobody else has the message', async ({ bed }) => {
      const claimed = await bed.deliver('a', { lease: 1 });
      await bed.advance(2);

      expect(await bed.settle(claimed, PUT_OFF)).toBe('settled');
      expect(await bed.get('a')).toMatchObject({ state: 'scheduled', attempts: 0 });
    });
  });
}
