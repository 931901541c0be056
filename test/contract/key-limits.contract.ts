import { describe, expect } from 'vitest';
import type { ClaimedMessage } from '../../lib/store/deliveries/claim.js';
import type { Limits } from '../../lib/store/deliveries/limits.js';
import type { Outcome } from '../../lib/store/deliveries/settle.js';
import {
  ACK,
  type BrokerTest,
  DEAD,
  FAILURE,
  LONG,
  LONG_AGO,
  RELEASE,
  RETRY,
  RETRY_LATER,
  message,
} from '../support/broker/broker-bed.js';
import { claimAll, claimable, publishAll } from '../support/broker/ordered-messages.js';

/** Stored ids of one key, and one of another. */
const [A, B, C, D] = ['a\0k', 'b\0k', 'c\0k', 'd\0k'] as const;
const OTHER = 'other\0l';

export function keyLimitsContract(it: BrokerTest): void {
  describe('what may be in flight of a key', () => {
    it('bounds the deliveries of each key, and of no other', async ({ bed }) => {
      bed.keyLimits = { inFlight: 2 };
      await publishAll(bed, A, B, C, D, OTHER);

      expect(await claimable(bed)).toEqual([A, B, OTHER]);
      expect(await claimable(bed)).toEqual([]);
    });

    it('counts a message without a key by its id', async ({ bed }) => {
      bed.keyLimits = { inFlight: 1 };
      await publishAll(bed, 'k', A, 'l');

      expect(await claimable(bed)).toEqual([A, 'l']);
      expect((await bed.get('k'))?.state).toBe('scheduled');
    });

    it.for<{ outcome: Outcome; kind: string }>([
      { outcome: ACK, kind: 'ack' },
      { outcome: RETRY_LATER, kind: 'retry' },
      { outcome: DEAD, kind: 'dead' },
      { outcome: { kind: 'put-off', delay: LONG }, kind: 'put off' },
    ])('lets the next one go on once one has ended: $kind', async ({ outcome }, { bed }) => {
      bed.keyLimits = { inFlight: 1 };
      await publishAll(bed, A, B, C);
      const [first] = await claimAll(bed);
      await bed.settle(first as ClaimedMessage, outcome);

      expect((await bed.claim({ max: 0 })).nextAt).toBe(LONG_AGO);
      expect(await claimable(bed)).toEqual([B]);
    });

    it.for([
      { outcome: RELEASE, kind: 'release' },
      { outcome: RETRY, kind: 'retry' },
    ])('may give the place to the same message: $kind', async ({ outcome }, { bed }) => {
      bed.keyLimits = { inFlight: 1 };
      await publishAll(bed, A, B);
      const [first] = await claimAll(bed);
      await bed.settle(first as ClaimedMessage, outcome);
      await bed.advance(1);

      expect(await claimable(bed)).toHaveLength(1);
    });

    it('counts a message whose lease has ended once', async ({ bed }) => {
      bed.keyLimits = { inFlight: 1 };
      await publishAll(bed, A, B);
      await bed.claim({ lease: 20 });
      await bed.advance(30);

      expect(await claimAll(bed)).toMatchObject([{ storedId: A, delivery: 2 }]);
      expect(await claimable(bed)).toEqual([]);
    });

    it('goes on behind what was cancelled while it ran, once it has ended', async ({ bed }) => {
      bed.keyLimits = { inFlight: 1 };
      await publishAll(bed, A, B);
      const first = await bed.claimOne();
      await bed.cancel(A);
      expect(await claimable(bed)).toEqual([]);
      await bed.settle(first, RETRY);

      expect(await claimable(bed)).toEqual([B]);
    });

    it('goes on behind what was set aside', async ({ bed }) => {
      bed.keyLimits = { inFlight: 1 };
      await publishAll(bed, A, B);
      await bed.broker.deliveries.setAside(bed.partition, await bed.claimOne(), FAILURE);

      expect(await claimable(bed)).toEqual([B]);
    });

    it('goes on behind what was cancelled and whose lease has ended', async ({ bed }) => {
      bed.keyLimits = { inFlight: 1 };
      await publishAll(bed, A, B);
      await bed.claim({ lease: 20 });
      await bed.cancel(A);
      await bed.advance(30);

      expect(await claimable(bed)).toEqual([B]);
    });

    it('goes on if the next one is cancelled, moved or replaced before it was claimed', async ({ bed }) => {
      bed.keyLimits = { inFlight: 1 };
      await publishAll(bed, A, B, C, D);
      const [first] = (await claimAll(bed)) as [ClaimedMessage];
      await bed.settle(first, ACK);
      await bed.cancel(B);
      await bed.reschedule(C, { after: LONG });

      expect(await claimable(bed)).toEqual([D]);
    });

    it('has what is held back wait like any other: seen, cancelled, moved, edited, replaced', async ({ bed }) => {
      bed.keyLimits = { inFlight: 1 };
      await publishAll(bed, A, B, C, D);
      await bed.claim();
      expect(await bed.get(B)).toMatchObject({ state: 'scheduled', at: LONG_AGO });
      expect(await bed.get(B)).not.toHaveProperty('blockedBy');
      expect(await bed.stats()).toMatchObject({ scheduled: 3, blocked: 3, due: 0, inFlight: 1 });
      const { messages } = await bed.broker.messages.peek(bed.partition, {
        state: 'scheduled',
        blocked: true,
        limit: 10,
        maxBytes: 1e6,
      });
      expect(messages.map(({ storedId }) => storedId)).toEqual([B, C, D]);

      const { envelope: expected } = (await bed.get(B)) as { envelope: string };
      const edit = { storedId: B, expected, envelope: '[7]' };
      expect(await bed.broker.messages.edit(bed.partition, bed.nextCall(), edit)).toBe('edited');
      expect(await bed.cancel(C)).toBe('cancelled');
      expect(await bed.publish(D)).toMatchObject({ status: 'rejected', dueAt: LONG_AGO });
      expect(await bed.publish(D, { onDuplicate: 'replace', due: { after: LONG } })).toMatchObject({
        status: 'replaced',
      });
      expect(await bed.reschedule(B, { after: LONG })).toBe('moved');
      expect(await bed.stats()).toMatchObject({ scheduled: 2, blocked: 0, due: 0 });
      expect(await bed.get(B)).toMatchObject({ envelope: '[7]' });
    });

    it('has all that waits removed, what is held back too', async ({ bed }) => {
      bed.keyLimits = { inFlight: 1 };
      await publishAll(bed, A, B, C, OTHER);
      await bed.claim({ max: 1 });
      await bed.claim({ max: 1 });
      const { removed, more } = await bed.broker.messages.clear(bed.partition, bed.nextCall(), 'scheduled');

      expect([removed, more]).toEqual([2, false]);
      expect(await bed.stats()).toMatchObject({ scheduled: 0, blocked: 0 });
    });

    it('lets more begin once it is raised, and all once it is gone', async ({ bed }) => {
      bed.keyLimits = { inFlight: 1 };
      await publishAll(bed, A, B, C, D);
      await bed.claim();
      bed.keyLimits = { inFlight: 2 };
      await bed.claim();
      expect(await claimable(bed)).toHaveLength(1);

      bed.keyLimits = undefined;
      await bed.claim();
      expect(await claimable(bed)).toHaveLength(2);
    });

    it.for<{ what: string; before: Limits; after?: Limits }>([
      { what: 'a rate that is gone', before: { rate: { max: 1, per: LONG } } },
      {
        what: 'a rate that was raised',
        before: { rate: { max: 1, per: LONG } },
        after: { rate: { max: 20, per: LONG } },
      },
      { what: 'more that may be in flight', before: { inFlight: 1 }, after: { inFlight: 20 } },
    ])('lets all go on soon, though each claim takes all that has come free: $what', async (given, { bed }) => {
      bed.keyLimits = given.before;
      for (const id of ['a', 'b']) {
        await bed.publishAll(Array.from({ length: 110 }, (_, key) => message(`${id}\0${key}`)));
      }
      expect(await claimable(bed)).toHaveLength(110);
      bed.keyLimits = given.after;
      let claimed = 0;
      for (let nextAt: number | undefined = 0; nextAt !== undefined && nextAt <= (await bed.time());) {
        const answer = await bed.claim({ max: 1 });
        claimed += answer.messages.length;
        nextAt = answer.nextAt;
        await bed.advance(1);
      }

      expect(claimed).toBe(110);
    });

    it('does not change what an order allows', async ({ bed }) => {
      bed.order = 'continue';
      bed.keyLimits = { inFlight: 5 };
      await publishAll(bed, A, B, OTHER);

      expect(await claimable(bed)).toEqual([A, OTHER]);
    });
  });
}
