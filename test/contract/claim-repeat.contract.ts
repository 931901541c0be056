import { describe, expect } from 'vitest';
import type { ClaimedMessage } from '../../lib/broker/broker.interface.js';
import { type BrokerTest, ACK, LONG, RETRY, message } from '../support/broker/broker-bed.js';

function byToken(messages: readonly ClaimedMessage[]): ClaimedMessage[] {
  return messages.toSorted((a, b) => a.token - b.token);
}

export function claimRepeatContract(it: BrokerTest): void {
  describe('claim repeated, since its reply was lost', () => {
    it('returns the same deliveries with the same tokens', async ({ bed }) => {
      await bed.deliver('known');
      await bed.publishAll([message('a'), message('b'), message('c')]);
      const lost = await bed.claim({ knownToken: 1 });

      const repeated = await bed.claim({ knownToken: 1 });

      expect(byToken(repeated.messages)).toEqual(lost.messages);
      expect(repeated.messages).toHaveLength(3);
      expect(repeated.token).toBe(lost.token);
    });

    it('hands out nothing new, however much is due', async ({ bed }) => {
      await bed.publish('a');
      await bed.claim({ knownToken: 0 });
      await bed.publish('b');

      expect((await bed.claim({ knownToken: 0 })).messages).toMatchObject([{ storedId: 'a', token: 1, attempt: 1 }]);
      expect((await bed.claim({ knownToken: 1 })).messages).toMatchObject([{ storedId: 'b', token: 2 }]);
    });

    it('returns no delivery that is known already', async ({ bed }) => {
      await bed.deliver('known');
      await bed.publish('lost');
      await bed.claim({ knownToken: 1 });

      expect((await bed.claim({ knownToken: 1 })).messages.map(({ storedId }) => storedId)).toEqual(['lost']);
    });

    it('may be repeated again and again', async ({ bed }) => {
      await bed.publishAll([message('a'), message('b')]);
      const { messages } = await bed.claim({ knownToken: 0 });

      for (let i = 0; i < 3; i++) expect(byToken((await bed.claim({ knownToken: 0 })).messages)).toEqual(messages);
      expect((await bed.broker.stats(bed.partition)).counters.delivered).toBe(2);
    });

    it('renews the leases from now on', async ({ bed }) => {
      await bed.deliver('a', { lease: 5 });
      await bed.advance(5);

      expect((await bed.claim({ knownToken: 0, lease: LONG })).messages).toMatchObject([{ token: 1, attempt: 1 }]);
      expect((await bed.claim()).messages).toEqual([]);
      expect((await bed.get('a'))?.at).toBeGreaterThan((await bed.time()) + LONG / 2);
    });

    it('returns deliveries that can be settled', async ({ bed }) => {
      await bed.deliver('a');
      const { messages } = await bed.claim({ knownToken: 0 });

      expect(await bed.settleAll(messages.map((claimed) => [claimed, ACK]))).toEqual(['settled']);
    });

    it('redelivers what it does not return, at the end of the lease', async ({ bed }) => {
      await bed.publishAll([message('a'), message('b')]);
      await bed.claim({ knownToken: 0, max: 2, lease: 10 });
      const { messages } = await bed.claim({ knownToken: 0, max: 1, lease: 10 });
      expect(messages).toHaveLength(1);
      await bed.advance(10);

      const { messages: again } = await bed.claim();

      expect(again.map(({ storedId }) => storedId).toSorted()).toEqual(['a', 'b']);
      expect(again.map(({ attempt }) => attempt)).toEqual([2, 2]);
    });

    it('does not hand out early what has replaced a message meanwhile', async ({ bed }) => {
      const lost = await bed.deliver('a');
      const replaced = await bed.publish('a', { due: { after: LONG }, onDuplicate: 'replace' });
      expect(replaced.status).toBe('replaced');

      expect((await bed.claim({ knownToken: 0 })).messages).toEqual([]);
      // A claim that finds it, or the one after the end of the lost lease, gives the new message its place.
      await bed.settle(lost, ACK);
      expect(await bed.get('a')).toMatchObject({ state: 'scheduled', at: replaced.dueAt, attempts: 0 });
    });

    it('does not hand out what was cancelled meanwhile', async ({ bed }) => {
      const lost = await bed.deliver('a');
      await bed.cancel('a');

      expect((await bed.claim({ knownToken: 0 })).messages).toEqual([]);
      expect(await bed.settle(lost, RETRY)).not.toBe('settled');
      expect(await bed.get('a')).toBeUndefined();
      expect((await bed.broker.stats(bed.partition)).counters.cancelled).toBe(1);
    });
  });
}
