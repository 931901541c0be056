import { describe, expect } from 'vitest';
import type { StoredMessage } from '../../lib/broker/broker.interface.js';
import {
  type Bench,
  type BrokerTest,
  ACK,
  DEAD,
  OUTCOMES,
  PUT_OFF,
  RELEASE,
  RETRY_LATER,
} from '../support/broker/broker-bed.js';

/** Everything of 'a' that a settle could change, but the count of stale ones. */
async function stateOf(
  bench: Bench,
): Promise<{ message: StoredMessage | undefined; stats: unknown; counters: unknown }> {
  const { counters, due: _changesWithTime, ...stats } = await bench.broker.stats(bench.partition);
  return { message: await bench.get('a'), stats, counters: { ...counters, stale: 0 } };
}

export function settleReceiptContract(it: BrokerTest): void {
  describe('settle with a receipt that does not fit', () => {
    for (const outcome of OUTCOMES) {
      it(`${outcome.kind}: a stale token changes nothing`, async ({ bench }) => {
        const { token } = await bench.deliver('a');
        const before = await stateOf(bench);

        for (const wrong of [token - 1, token + 1, 0]) {
          expect(await bench.settle({ storedId: 'a', token: wrong }, outcome)).toBe('stale');
        }

        expect(await stateOf(bench)).toEqual(before);
        expect((await bench.broker.stats(bench.partition)).counters.stale).toBe(3);
      });

      it(`${outcome.kind}: too late, after a redelivery, changes nothing`, async ({ bench }) => {
        const late = await bench.deliver('a', { lease: 5 });
        await bench.advance(5);
        const current = await bench.claimOne();
        const before = await stateOf(bench);

        expect(await bench.settle(late, outcome)).toBe('stale');

        expect(await stateOf(bench)).toEqual(before);
        expect(await bench.settle(current, ACK)).toBe('settled');
      });
    }

    it('too late, after the message was given back: changes nothing', async ({ bench }) => {
      for (const outcome of [RETRY_LATER, PUT_OFF, RELEASE]) {
        const claimed = await bench.deliver('a');
        await bench.settle(claimed, outcome);
        const before = await stateOf(bench);

        expect(await bench.settle(claimed, ACK)).toBe('stale');

        expect(await stateOf(bench)).toEqual(before);
        await bench.cancel('a');
      }
    });

    it('too late, after the message has died: changes nothing', async ({ bench }) => {
      const claimed = await bench.settled('a', DEAD);

      expect(await bench.settle(claimed, ACK)).toBe('stale');
      expect(await bench.get('a')).toMatchObject({ state: 'dead' });
    });

    it('without a token it settles no message that waits', async ({ bench }) => {
      for (const [id, outcome] of [
        ['retried', RETRY_LATER],
        ['dead', DEAD],
      ] as const) {
        await bench.settled(id, outcome);
        const before = await bench.get(id);

        expect(await bench.settle({ storedId: id, token: 0 }, ACK)).toBe('stale');
        expect(await bench.get(id)).toEqual(before);
      }
    });

    it('of a message that never was', async ({ bench }) => {
      expect(await bench.settle({ storedId: 'nobody', token: 1 }, DEAD)).toBe('stale');
      expect(await bench.get('nobody')).toBeUndefined();
      expect(await bench.broker.stats(bench.partition)).toMatchObject({ dead: 0, scheduled: 0, inFlight: 0 });
    });

    it('of an earlier message with the same id', async ({ bench }) => {
      const first = await bench.settled('a', ACK);
      const second = await bench.deliver('a');
      expect(second).toMatchObject({ delivery: 1, attempt: 1 });

      expect(await bench.settle(first, ACK)).toBe('stale');

      expect(await bench.get('a')).toMatchObject({ state: 'in-flight', envelope: second.envelope });
    });

    it('of a message whose cancelled delivery was dropped and whose id was published again', async ({ bench }) => {
      const first = await bench.deliver('a', { lease: 5 });
      await bench.cancel('a');
      await bench.advance(5);
      await bench.claim();
      await bench.deliver('a');

      expect(await bench.settle(first, DEAD)).toBe('stale');
      expect(await bench.get('a')).toMatchObject({ state: 'in-flight', failure: undefined });
    });

    it('twice in one call: the first counts', async ({ bench }) => {
      for (const outcome of OUTCOMES) {
        const id = outcome.kind;
        const claimed = await bench.deliver(id);
        const other = outcome === ACK ? DEAD : ACK;

        expect(
          await bench.settleAll([
            [claimed, outcome],
            [claimed, other],
          ]),
        ).toEqual(['settled', 'stale']);

        const state = outcome === DEAD ? 'dead' : 'scheduled';
        expect((await bench.get(id))?.state).toBe(outcome === ACK ? undefined : state);
        await bench.cancel(id);
      }
    });

    it('a stale receipt does not keep the current one in the same call from counting', async ({ bench }) => {
      const claimed = await bench.deliver('a');

      expect(
        await bench.settleAll([
          [{ storedId: 'a', token: claimed.token + 1 }, DEAD],
          [claimed, ACK],
        ]),
      ).toEqual(['stale', 'settled']);
      expect(await bench.get('a')).toBeUndefined();
    });
  });
}
