import { describe, expect } from 'vitest';
import { ownerOf, sessionOfOwner } from '../../lib/store/fleet/owner.js';
import {
  ACK,
  type BrokerTest,
  FAILURE,
  LONG,
  LONG_AGO,
  RETRY,
  RETRY_LATER,
  message,
} from '../support/broker/broker-bed.js';

const ONCE = { lease: 0 } as const;

export function atMostOnceContract(it: BrokerTest): void {
  describe('a claim without a lease', () => {
    it('hands messages out, and they are gone', async ({ bed }) => {
      await bed.publish('a', { envelope: '[1,"once"]' });

      const { messages, delivered } = await bed.claim(ONCE);

      expect(messages).toEqual([
        {
          storedId: 'a',
          envelope: '[1,"once"]',
          token: bed.token(1),
          delivery: 1,
          attempt: 1,
          dueAt: LONG_AGO,
          weight: 0,
        },
      ]);
      expect(delivered).toBe(1);
      expect(await bed.get('a')).toBeUndefined();
      expect(await bed.stats()).toMatchObject({
        scheduled: 0,
        inFlight: 0,
        dead: 0,
        counters: { delivered: 1, acked: 0 },
      });
      expect(await bed.claim()).toMatchObject({ messages: [], nextAt: undefined });
      expect(await bed.publish('a')).toMatchObject({ status: 'created' });
    });

    it('leaves nothing to be settled, extended, cancelled or set aside', async ({ bed }) => {
      await bed.publish('a');
      const claimed = await bed.claimOne(ONCE);

      expect(await bed.settle(claimed, ACK)).toBe('stale');
      expect(await bed.broker.deliveries.extend(bed.partition, LONG, [claimed])).toEqual(['lost']);
      expect(await bed.cancel('a')).toBe('not-found');
      expect(await bed.broker.deliveries.setAside(bed.partition, claimed, FAILURE)).toBeUndefined();
    });

    it('hands out what others have tried before, with its counts, and what they have left with its lease', async ({
      bed,
    }) => {
      await bed.settled('retried', RETRY);
      await bed.deliver('left', { lease: 1 });
      await bed.advance(2);

      expect((await bed.claim(ONCE)).messages).toMatchObject([
        { storedId: 'left', delivery: 2, attempt: 1 },
        { storedId: 'retried', delivery: 2, attempt: 2 },
      ]);
      expect(await bed.stats()).toMatchObject({ scheduled: 0, inFlight: 0 });
      for (const id of ['left', 'retried']) expect(await bed.get(id)).toBeUndefined();
    });

    it('is answered with the same if it is repeated, whatever its max', async ({ bed }) => {
      const ids = Array.from({ length: 120 }, (_, i) => `id ${i}\0key`);
      await bed.publishAll(ids.map((id) => message(id, { envelope: `[1,"ünï \u{1F600}\\n${id.slice(0, -4)}"]` })));
      const first = await bed.claim({ ...ONCE, max: 100 });
      const again = await bed.repeatClaim({ max: 0 });

      expect(first.messages).toHaveLength(100);
      expect(again.messages).toEqual(first.messages);
      expect(again.delivered).toBe(first.delivered);
      expect((await bed.claim(ONCE)).messages).toHaveLength(20);
      expect((await bed.repeatClaim()).messages).toHaveLength(20);
      expect(await bed.claim(ONCE)).toMatchObject({ messages: [] });
      expect((await bed.repeatClaim()).messages).toEqual([]);
    });

    it('gives nothing of it to another owner', async ({ bed }) => {
      await bed.publish('a');
      await bed.claim(ONCE);
      const heir = ownerOf('heirs-epoch', 'heir');
      await bed.broker.fleet.acquire(bed.partition, heir, bed.owner);
      const request = bed.nextClaim({ owner: heir, sequence: 1, delivered: 0, ...ONCE });

      expect(await bed.broker.deliveries.claim(bed.partition, request)).toMatchObject({ messages: [] });
    });

    it('ends what was cancelled or replaced while it was in flight', async ({ bed }) => {
      await bed.publishAll([message('cancelled'), message('replaced')]);
      await bed.claim({ lease: 50 });
      await bed.cancel('cancelled');
      await bed.publish('replaced', { onDuplicate: 'replace', due: { after: LONG } });
      await bed.advance(60);

      expect((await bed.claim(ONCE)).messages).toEqual([]);
      expect(await bed.get('cancelled')).toBeUndefined();
      expect(await bed.get('replaced')).toMatchObject({ state: 'scheduled' });
    });

    it('keeps what it hands out as finished, if that is asked for', async ({ bed }) => {
      bed.finished = { maxAge: LONG };
      await bed.settled('a', RETRY_LATER);
      await bed.reschedule('a', { at: LONG_AGO });
      await bed.claimOne(ONCE);

      expect(await bed.get('a')).toMatchObject({
        state: 'finished',
        deliveries: 2,
        failure: FAILURE,
        ending: { outcome: 'delivered', dueAt: LONG_AGO, duration: undefined, process: sessionOfOwner(bed.owner) },
      });
      expect(await bed.publish('a')).toEqual({ status: 'rejected', finishedAs: 'delivered', dueAt: LONG_AGO });
      expect((await bed.repeatClaim()).messages).toMatchObject([{ storedId: 'a' }]);
    });

    it('takes their tags away', async ({ bed }) => {
      await bed.publish('a', { tags: ['x'] });
      await bed.claim(ONCE);

      expect(await bed.cancelTagged('x')).toEqual({ cancelled: 0, inFlight: 0, next: undefined });
    });
  });
}
