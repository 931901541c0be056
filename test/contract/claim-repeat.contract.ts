import { describe, expect } from 'vitest';
import type { ClaimedMessage } from '../../lib/broker/broker.interface.js';
import { type BrokerTest, ACK, LONG, RETRY, message } from '../support/broker/broker-bed.js';

function byToken(messages: readonly ClaimedMessage[]): ClaimedMessage[] {
  return messages.toSorted((a, b) => a.token - b.token);
}

export function claimRepeatContract(it: BrokerTest): void {
  describe('claim repeated, since its reply was lost', () => {
    it('returns the same deliveries with the same tokens', async ({ bench }) => {
      await bench.deliver('known');
      await bench.publishAll([message('a'), message('b'), message('c')]);
      const lost = await bench.claim({ knownToken: 1 });

      const repeated = await bench.claim({ knownToken: 1 });

      expect(byToken(repeated.messages)).toEqual(lost.messages);
      expect(repeated.messages).toHaveLength(3);
      expect(repeated.token).toBe(lost.token);
    });

    it('hands out nothing new, however much is due', async ({ bench }) => {
      await bench.publish('a');
      await bench.claim({ knownToken: 0 });
      await bench.publish('b');

      expect((await bench.claim({ knownToken: 0 })).messages).toMatchObject([{ storedId: 'a', token: 1, attempt: 1 }]);
      expect((await bench.claim({ knownToken: 1 })).messages).toMatchObject([{ storedId: 'b', token: 2 }]);
    });

    it('returns no delivery that is known already', async ({ bench }) => {
      await bench.deliver('known');
      await bench.publish('lost');
      await bench.claim({ knownToken: 1 });

      expect((await bench.claim({ knownToken: 1 })).messages.map(({ storedId }) => storedId)).toEqual(['lost']);
    });

    it('may be repeated again and again', async ({ bench }) => {
      await bench.publishAll([message('a'), message('b')]);
      const { messages } = await bench.claim({ knownToken: 0 });

      for (let i = 0; i < 3; i++) expect(byToken((await bench.claim({ knownToken: 0 })).messages)).toEqual(messages);
      expect((await bench.broker.stats(bench.partition)).counters.delivered).toBe(2);
    });

    it('renews the leases from now on', async ({ bench }) => {
      await bench.deliver('a', { lease: 5 });
      await bench.advance(5);

      expect((await bench.claim({ knownToken: 0, lease: LONG })).messages).toMatchObject([{ token: 1, attempt: 1 }]);
      expect((await bench.claim()).messages).toEqual([]);
      expect((await bench.get('a'))?.at).toBeGreaterThan((await bench.time()) + LONG / 2);
    });

    it('returns deliveries that can be settled', async ({ bench }) => {
      await bench.deliver('a');
      const { messages } = await bench.claim({ knownToken: 0 });

      expect(await bench.settleAll(messages.map((claimed) => [claimed, ACK]))).toEqual(['settled']);
    });

    it('redelivers what it does not return, at the end of the lease', async ({ bench }) => {
      await bench.publishAll([message('a'), message('b')]);
      await bench.claim({ knownToken: 0, max: 2, lease: 10 });
      const { messages } = await bench.claim({ knownToken: 0, max: 1, lease: 10 });
      expect(messages).toHaveLength(1);
      await bench.advance(10);

      const { messages: again } = await bench.claim();

      expect(again.map(({ storedId }) => storedId).toSorted()).toEqual(['a', 'b']);
      expect(again.map(({ attempt }) => attempt)).toEqual([2, 2]);
    });

    it('does not hand out early what has replaced a message meanwhile', async ({ bench }) => {
      const lost = await bench.deliver('a');
      const replaced = await bench.publish('a', { due: { after: LONG }, onDuplicate: 'replace' });
      expect(replaced.status).toBe('replaced');

      expect((await bench.claim({ knownToken: 0 })).messages).toEqual([]);
      // A claim that finds it, or the one after the end of the lost lease, gives the new message its place.
      await bench.settle(lost, ACK);
      expect(await bench.get('a')).toMatchObject({ state: 'scheduled', at: replaced.dueAt, attempts: 0 });
    });

    it('does not hand out what was cancelled meanwhile', async ({ bench }) => {
      const lost = await bench.deliver('a');
      await bench.cancel('a');

      expect((await bench.claim({ knownToken: 0 })).messages).toEqual([]);
      expect(await bench.settle(lost, RETRY)).not.toBe('settled');
      expect(await bench.get('a')).toBeUndefined();
      expect((await bench.broker.stats(bench.partition)).counters.cancelled).toBe(1);
    });
  });
}
