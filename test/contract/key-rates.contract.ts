import { describe, expect } from 'vitest';
import type { ClaimedMessage } from '../../lib/store/deliveries/claim.js';
import { AT_ONCE } from '../../lib/store/deliveries/permits.js';
import { ACK, type BrokerBed, type BrokerTest, LONG, LONG_AGO, RELEASE, RETRY } from '../support/broker/broker-bed.js';
import { claimAll, claimable, publishAll } from '../support/broker/ordered-messages.js';

/** Stored ids of one key, and one of another. */
const [A, B, C, D] = ['a\0k', 'b\0k', 'c\0k', 'd\0k'] as const;
const OTHER = 'other\0l';

/** What a rate of keys is in these tests, and how long its window is, in milliseconds. */
const PER = 100;
const WINDOW = PER + AT_ONCE.slack;

/** Claims what a limit has let go on, which a claim finds that has nothing else; acknowledges it. */
async function eventuallyOne(bed: BrokerBed): Promise<ClaimedMessage> {
  await bed.claim();
  const message = await bed.claimOne();
  await bed.settle(message, ACK);
  return message;
}

export function keyRatesContract(it: BrokerTest): void {
  describe('the rate of a key', () => {
    it('lets so many begin within its window, and then more', async ({ bed }) => {
      bed.keyLimits = { rate: { max: 2, per: PER } };
      await publishAll(bed, A, B, C, D, OTHER);
      const { messages, nextAt } = await bed.claim();
      expect(messages.map(({ storedId }) => storedId)).toEqual([A, B, OTHER]);
      for (const message of messages) await bed.settle(message, ACK);
      expect(await claimable(bed)).toEqual([]);

      expect(nextAt).toBeGreaterThan((await bed.time()) + WINDOW / 4);
      await bed.advance(WINDOW + 5);
      expect(await claimable(bed)).toEqual([C, D]);
    });

    it.for([{ lead: 0 }, { lead: 40 }])(
      'is there for a claim that comes early by no more than its slack, and what it brings begins when it may: %o',
      async ({ lead }, { bed }) => {
        const begin = { lead, slack: 60, ahead: 0 };
        bed.keyLimits = { rate: { max: 1, per: PER } };
        await publishAll(bed, A, B);
        const { grantedAt = 0, nextAt = 0 } = await bed.claim({ begin });
        await bed.advance(nextAt - (await bed.time()) - begin.slack / 2);

        const early = await bed.claim({ begin });
        expect(early.messages).toMatchObject([{ storedId: B }]);
        expect(early.grantedAt).toBeGreaterThanOrEqual(grantedAt + PER + 1 + begin.slack);
      },
    );

    it.for([{ lead: 0 }, { lead: 5000 }])(
      'has the next claim made when more may begin, and not while what it has just granted may: %o',
      async ({ lead }, { bed }) => {
        const begin = { lead, slack: 60, ahead: 0 };
        bed.keyLimits = { rate: { max: 1, per: LONG } };
        await publishAll(bed, A, B, OTHER);
        const { grantedAt = 0, nextAt } = await bed.claim({ begin, max: 2, lease: 2 * LONG });
        expect(nextAt).toBe(grantedAt + LONG + 1 - lead);
      },
    );

    it('has the next claim made as early as the claimant wants', async ({ bed }) => {
      bed.keyLimits = { rate: { max: 1, per: LONG } };
      await publishAll(bed, A, B);
      await bed.settle(await bed.claimOne(), ACK);
      const { nextAt = 0 } = await bed.claim();
      expect(await bed.claim({ begin: { ...AT_ONCE, ahead: 30 } })).toMatchObject({ nextAt: nextAt - 30 });
    });

    it('has what comes free at nearly the same time claimed together', async ({ bed }) => {
      const begin = { ...AT_ONCE, ahead: 5000 };
      bed.keyLimits = { rate: { max: 2, per: LONG } };
      await publishAll(bed, A, B, C);
      await bed.settle(await bed.claimOne({ begin }), ACK);
      await bed.advance(20);
      const second = await bed.claim({ begin });
      for (const message of second.messages) await bed.settle(message, ACK);
      const { nextAt } = await bed.claim({ begin });
      expect(nextAt).toBe((second.grantedAt ?? 0) + LONG + 1 - begin.ahead);
    });

    it('takes nothing back when a delivery ends, but when more of its key may begin', async ({ bed }) => {
      bed.keyLimits = { rate: { max: 1, per: LONG } };
      await publishAll(bed, A, B);
      const { messages } = await bed.claim();
      for (const message of messages) await bed.settle(message, ACK);
      expect(await bed.claim({ max: 0, counts: true })).toMatchObject({ due: 0 });
    });

    it('keeps the due times of what waits', async ({ bed }) => {
      bed.keyLimits = { rate: { max: 1, per: PER } };
      await publishAll(bed, A, B);
      await bed.claim();
      expect(await bed.get(B)).toMatchObject({ at: LONG_AGO });
      await bed.advance(WINDOW + 5);

      expect(await claimAll(bed)).toMatchObject([{ storedId: B, dueAt: LONG_AGO }]);
    });

    it('counts what is delivered again', async ({ bed }) => {
      bed.keyLimits = { rate: { max: 1, per: PER } };
      const claimed = await bed.deliver(A);
      await bed.settle(claimed, RETRY);
      await bed.advance(1);
      expect(await claimable(bed)).toEqual([]);
      await bed.advance(WINDOW + 5);
      expect(await claimable(bed)).toEqual([A]);
    });

    it('counts what comes again after its lease, which stays in flight until it may', async ({ bed }) => {
      bed.keyLimits = { rate: { max: 1, per: PER } };
      await bed.deliver(A, { lease: 5 });
      await bed.advance(10);
      expect(await claimable(bed)).toEqual([]);
      expect(await bed.get(A)).toMatchObject({ state: 'in-flight' });
      await bed.advance(WINDOW);
      expect(await claimAll(bed)).toMatchObject([{ storedId: A, delivery: 2 }]);
    });

    it('does not count what was given back before its handler was called', async ({ bed }) => {
      bed.keyLimits = { rate: { max: 1, per: LONG } };
      await publishAll(bed, A, B);
      const { messages, grantedAt } = await bed.claim();
      expect(grantedAt).toBeGreaterThan(0);
      await bed.settle(messages[0] as ClaimedMessage, { kind: 'release', grantedAt });

      expect(await claimable(bed)).toHaveLength(1);
      expect(await claimable(bed)).toEqual([]);
    });

    it('counts what was given back after its handler was called, and what another time is said of', async ({ bed }) => {
      bed.keyLimits = { rate: { max: 1, per: LONG } };
      const { messages, grantedAt = 0 } = await bed.deliver(A).then(async (claimed) => {
        await bed.settle(claimed, RELEASE);
        return bed.claim();
      });
      expect([messages, grantedAt]).toEqual([[], 0]);
      const other = await bed.deliver(OTHER);
      await bed.settle(other, { kind: 'release', grantedAt: 5 });
      expect(await claimable(bed)).toEqual([]);
    });

    it('holds the first of an ordered key back, and none behind it goes on', async ({ bed }) => {
      bed.order = 'continue';
      bed.keyLimits = { rate: { max: 1, per: PER } };
      await publishAll(bed, A, B, OTHER);
      for (const message of await claimAll(bed)) await bed.settle(message, ACK);
      expect(await claimable(bed)).toEqual([]);
      await bed.advance(WINDOW + 5);

      expect(await claimAll(bed)).toMatchObject([{ storedId: B, dueAt: LONG_AGO }]);
    });

    it('leaves the first of an ordered key its place, whatever comes meanwhile that is due later', async ({ bed }) => {
      bed.order = 'continue';
      bed.keyLimits = { rate: { max: 1, per: 3 * PER } };
      await publishAll(bed, A, B, C);
      await bed.settle(await bed.claimOne(), ACK);
      // B waits for the rate now, and C behind it.
      expect(await claimable(bed)).toEqual([]);
      await bed.publish(D, { due: { after: PER } });
      await bed.publish(B, { due: { after: PER }, onDuplicate: 'earliest' });
      expect(await bed.get(C)).toMatchObject({ blockedBy: B });
      expect(await bed.get(D)).toMatchObject({ blockedBy: B });
      await bed.advance(3 * PER + AT_ONCE.slack + 5);

      expect(await claimAll(bed)).toMatchObject([{ storedId: B, dueAt: LONG_AGO }]);
    });

    it('leaves the first of an ordered key its place if it is to run now', async ({ bed }) => {
      bed.order = 'continue';
      bed.keyLimits = { rate: { max: 1, per: LONG } };
      await publishAll(bed, A, B, C);
      await bed.settle(await bed.claimOne(), ACK);
      expect(await claimable(bed)).toEqual([]);
      expect(await bed.broker.messages.runNow(bed.partition, bed.nextCall(), B)).toBe('moved');

      expect(await bed.get(C)).toMatchObject({ blockedBy: B });
      bed.keyLimits = undefined;
      expect(await eventuallyOne(bed)).toMatchObject({ storedId: B, dueAt: LONG_AGO });
    });

    it.for([{ order: undefined }, { order: 'continue' as const }])(
      'lets more begin once it is raised, and all once it is gone: $order',
      async ({ order }, { bed }) => {
        bed.order = order;
        bed.keyLimits = { rate: { max: 1, per: LONG } };
        await publishAll(bed, A, B, C);
        await bed.settle(await bed.claimOne(), ACK);
        expect(await claimable(bed)).toEqual([]);
        bed.keyLimits = { rate: { max: 2, per: LONG } };
        expect(await eventuallyOne(bed)).toMatchObject({ storedId: B, dueAt: LONG_AGO });
        expect(await claimable(bed)).toEqual([]);
        bed.keyLimits = undefined;

        expect(await eventuallyOne(bed)).toMatchObject({ storedId: C, dueAt: LONG_AGO });
      },
    );

    it('and what may be in flight hold together', async ({ bed }) => {
      bed.keyLimits = { inFlight: 1, rate: { max: 2, per: PER } };
      await publishAll(bed, A, B, C, D);
      const [first] = (await claimAll(bed)) as [ClaimedMessage];
      expect(await claimable(bed)).toEqual([]);
      await bed.settle(first, ACK);
      const [second] = (await claimAll(bed)) as [ClaimedMessage];
      await bed.settle(second, ACK);
      expect(await claimable(bed)).toEqual([]);
      await bed.advance(WINDOW + 5);
      expect(await claimable(bed)).toHaveLength(1);
    });

    it('of 1,000 within its window is kept', async ({ bed }) => {
      bed.keyLimits = { rate: { max: 1000, per: LONG } };
      for (let n = 0; n < 6; n++) {
        await bed.publishAll(
          Array.from({ length: 200 }, (_, i) => ({
            storedId: `${n}-${i}\0k`,
            envelope: '[1]',
            due: { at: LONG_AGO },
            onDuplicate: 'impossible' as const,
          })),
        );
      }
      let claimed = 0;
      for (let n = 0; n < 8; n++) {
        claimed += (await claimAll(bed)).length;
        await bed.advance(3);
      }
      expect(claimed).toBe(1000);
    });
  });

  describe('a key that was put off', () => {
    it('lets nothing of it begin before', async ({ bed }) => {
      await publishAll(bed, A, OTHER, B);
      const claimed = await bed.claimOne();
      await bed.settle(claimed, { kind: 'put-off', delay: 80, scope: 'key' });
      await bed.publish(C);

      expect(await claimable(bed)).toEqual([OTHER]);
      const { nextAt } = await bed.claim();
      expect(nextAt).toBeGreaterThan(await bed.time());
      await bed.advance(90);
      expect((await claimable(bed)).toSorted()).toEqual([A, B, C]);
    });

    it('lets nothing begin before whatever else limits it, and however early the claimant wants to ask', async ({
      bed,
    }) => {
      bed.keyLimits = { inFlight: 5 };
      const claimed = await bed.deliver(A);
      await bed.settle(claimed, { kind: 'put-off', delay: LONG, scope: 'key' });
      await bed.publish(B);
      const answer = await bed.claim({ begin: { lead: 2 * LONG, slack: LONG, ahead: LONG } });
      expect(answer.messages).toEqual([]);
      expect(answer.nextAt).toBeGreaterThan(await bed.time());
    });

    it('spends no attempt of the message', async ({ bed }) => {
      const claimed = await bed.deliver(A);
      await bed.settle(claimed, { kind: 'put-off', delay: 20, scope: 'key' });
      await bed.advance(30);

      expect(await claimAll(bed)).toMatchObject([{ storedId: A, delivery: 2, attempt: 1 }]);
    });

    it('is put off for as long as the longest', async ({ bed }) => {
      await publishAll(bed, A, B, C);
      const [a, b] = (await claimAll(bed)) as [ClaimedMessage, ClaimedMessage];
      await bed.settle(a, { kind: 'put-off', delay: LONG, scope: 'key' });
      await bed.settle(b, { kind: 'put-off', delay: 1, scope: 'key' });
      await bed.advance(5);
      await bed.publish(D);

      expect(await claimable(bed)).toEqual([]);
    });

    it('holds back what comes in its place in an order', async ({ bed }) => {
      bed.order = 'continue';
      await publishAll(bed, A, B);
      await bed.settle(await bed.claimOne(), { kind: 'put-off', delay: 80, scope: 'key' });
      await bed.cancel(A);

      expect(await claimable(bed)).toEqual([]);
      await bed.advance(90);
      expect(await claimAll(bed)).toMatchObject([{ storedId: B, dueAt: LONG_AGO }]);
    });

    it('does not hold back a message alone that was put off', async ({ bed }) => {
      await publishAll(bed, A, B);
      await bed.settle(await bed.claimOne(), { kind: 'put-off', delay: LONG, scope: 'message' });

      expect(await claimable(bed)).toEqual([B]);
    });
  });
}
