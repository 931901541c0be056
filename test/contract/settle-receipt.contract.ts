import { describe, expect } from 'vitest';
import { tokenOf } from '../../lib/store/deliveries/receipt.js';
import type { StoredMessage } from '../../lib/store/messages/stored-message.js';
import {
  type BrokerBed,
  type BrokerTest,
  ACK,
  DEAD,
  LONG,
  NO_TOKENS,
  OUTCOMES,
  PUT_OFF,
  RELEASE,
  RETRY_LATER,
} from '../support/broker/broker-bed.js';

/** Everything of 'a' that a settle could change, except the count of stale settles. */
async function stateOf(
  bed: BrokerBed,
): Promise<{ message: StoredMessage | undefined; stats: unknown; counters: unknown }> {
  const { counters, due: _changesWithTime, ...stats } = await bed.stats();
  return { message: await bed.get('a'), stats, counters: { ...counters, stale: 0 } };
}

export function settleReceiptContract(it: BrokerTest): void {
  describe('settle with a receipt that does not fit', () => {
    for (const outcome of OUTCOMES) {
      it(`${outcome.kind}: a stale token changes nothing`, async ({ bed }) => {
        const { token } = await bed.deliver('a');
        const before = await stateOf(bed);

        const neighbours = [
          bed.token(0),
          bed.token(2),
          tokenOf('another-epoch', 1),
          token.slice(1),
          `${token}0`,
          `${token} 1`,
        ];
        const wrongs = [...neighbours, ...NO_TOKENS];
        for (const wrong of wrongs) {
          expect(await bed.settle({ storedId: 'a', token: wrong }, outcome)).toBe('stale');
        }

        expect(await stateOf(bed)).toEqual(before);
        expect((await bed.stats()).counters.stale).toBe(wrongs.length);
      });

      it(`${outcome.kind}: too late, after a redelivery, changes nothing`, async ({ bed }) => {
        const late = await bed.deliver('a', { lease: 5 });
        await bed.advance(5);
        const current = await bed.claimOne();
        const before = await stateOf(bed);

        expect(await bed.settle(late, outcome)).toBe('stale');

        expect(await stateOf(bed)).toEqual(before);
        expect(await bed.settle(current, ACK)).toBe('settled');
      });
    }

    it('too late, after the message was given back: changes nothing', async ({ bed }) => {
      for (const outcome of [RETRY_LATER, PUT_OFF, RELEASE]) {
        const claimed = await bed.deliver('a');
        await bed.settle(claimed, outcome);
        const before = await stateOf(bed);

        expect(await bed.settle(claimed, ACK)).toBe('stale');

        expect(await stateOf(bed)).toEqual(before);
        await bed.cancel('a');
      }
    });

    it('too late, after the message has died: changes nothing', async ({ bed }) => {
      const claimed = await bed.settled('a', DEAD);

      expect(await bed.settle(claimed, ACK)).toBe('stale');
      expect(await bed.get('a')).toMatchObject({ state: 'dead' });
    });

    it('without a token it settles no message that waits', async ({ bed }) => {
      for (const [id, outcome] of [
        ['retried', RETRY_LATER],
        ['dead', DEAD],
      ] as const) {
        await bed.settled(id, outcome);
        const before = await bed.get(id);

        for (const token of NO_TOKENS) expect(await bed.settle({ storedId: id, token }, ACK)).toBe('stale');
        expect(await bed.get(id)).toEqual(before);
      }
    });

    it('takes no mark of a message for a token', async ({ bed }) => {
      const cancelled = await bed.deliver('cancelled');
      const replaced = await bed.deliver('replaced');
      await bed.cancel('cancelled');
      await bed.publish('replaced', { due: { at: 5 }, onDuplicate: 'replace' });

      for (const { storedId } of [cancelled, replaced]) {
        for (const token of NO_TOKENS) expect(await bed.settle({ storedId, token }, ACK)).toBe('stale');
        expect(await bed.broker.deliveries.extend(bed.partition, LONG, [{ storedId, token: 'c' }])).toEqual(['lost']);
        expect(await bed.get(storedId)).toMatchObject({ state: 'in-flight' });
      }
    });

    it('of a message that never was', async ({ bed }) => {
      expect(await bed.settle({ storedId: 'nobody', token: bed.token(1) }, DEAD)).toBe('stale');
      expect(await bed.get('nobody')).toBeUndefined();
      expect(await bed.stats()).toMatchObject({ dead: 0, scheduled: 0, inFlight: 0 });
    });

    it('of an earlier message with the same id', async ({ bed }) => {
      const first = await bed.settled('a', ACK);
      const second = await bed.deliver('a');
      expect(second).toMatchObject({ delivery: 1, attempt: 1 });

      expect(await bed.settle(first, ACK)).toBe('stale');

      expect(await bed.get('a')).toMatchObject({ state: 'in-flight', envelope: second.envelope });
    });

    it('of a message whose cancelled delivery was dropped and whose id was published again', async ({ bed }) => {
      const first = await bed.deliver('a', { lease: 5 });
      await bed.cancel('a');
      await bed.advance(5);
      await bed.claim();
      await bed.deliver('a');

      expect(await bed.settle(first, DEAD)).toBe('stale');
      expect(await bed.get('a')).toMatchObject({ state: 'in-flight', failure: undefined });
    });

    it('twice in one call: the first counts', async ({ bed }) => {
      for (const outcome of OUTCOMES) {
        const id = outcome.kind;
        const claimed = await bed.deliver(id);
        const other = outcome === ACK ? DEAD : ACK;

        expect(
          await bed.settleAll([
            [claimed, outcome],
            [claimed, other],
          ]),
        ).toEqual(['settled', 'stale']);

        const state = outcome === DEAD ? 'dead' : 'scheduled';
        expect((await bed.get(id))?.state).toBe(outcome === ACK ? undefined : state);
        await bed.cancel(id);
      }
    });

    it('a stale receipt does not keep the current one in the same call from counting', async ({ bed }) => {
      const claimed = await bed.deliver('a');

      expect(
        await bed.settleAll([
          [{ storedId: 'a', token: bed.token(2) }, DEAD],
          [{ storedId: 'a', token: '' }, DEAD],
          [{ storedId: 'a', token: `${claimed.token} ${claimed.token}` }, DEAD],
          [claimed, ACK],
        ]),
      ).toEqual(['stale', 'stale', 'stale', 'settled']);
      expect(await bed.get('a')).toBeUndefined();
    });
  });
}
