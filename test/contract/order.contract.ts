import { describe, expect } from 'vitest';
import type { Outcome } from '../../lib/store/deliveries/settle.js';
import {
  ACK,
  type BrokerBed,
  type BrokerTest,
  DEAD,
  FAILURE,
  LONG,
  LONG_AGO,
  RELEASE,
  RETRY,
  message,
} from '../support/broker/broker-bed.js';
import {
  FIRST,
  OTHER,
  SECOND,
  THIRD,
  claimable,
  deathOf,
  due,
  handledInTurn,
  isBlockedBy,
  publishAll,
  requeue,
} from '../support/broker/ordered-messages.js';

/** The head of its key has died, and blocks it. */
async function withDeadLetter(bed: BrokerBed): Promise<void> {
  bed.order = 'block';
  await publishAll(bed, FIRST, SECOND, OTHER);
  await bed.settle(await bed.claimOne(), DEAD);
}

export function orderContract(it: BrokerTest): void {
  describe('an ordered topic', () => {
    it('hands out one message of a key at a time, and others beside it', async ({ bed }) => {
      bed.order = 'continue';
      await publishAll(bed, FIRST, SECOND, OTHER, THIRD);

      expect(await claimable(bed)).toEqual([FIRST, OTHER]);
      expect(await claimable(bed)).toEqual([]);
    });

    it('goes by due times, and then by arrival, whatever the ids are', async ({ bed }) => {
      bed.order = 'continue';
      await bed.publish(FIRST, due(LONG_AGO + 2));
      await bed.publish(SECOND, due(LONG_AGO + 1));
      await bed.publish(THIRD, due(LONG_AGO + 1));

      expect(await handledInTurn(bed)).toEqual([SECOND, THIRD, FIRST]);
    });

    it('goes by arrival within one call, too', async ({ bed }) => {
      bed.order = 'continue';
      await bed.publishAll([SECOND, FIRST, THIRD].map((id) => message(id, { onDuplicate: 'impossible' })));

      expect(await handledInTurn(bed)).toEqual([SECOND, FIRST, THIRD]);
    });

    it('goes by arrival within one call that replaces some', async ({ bed }) => {
      bed.order = 'continue';
      await publishAll(bed, FIRST);
      await bed.publishAll([SECOND, FIRST, THIRD].map((id) => message(id, { onDuplicate: 'replace' })));

      expect(await handledInTurn(bed)).toEqual([SECOND, FIRST, THIRD]);
    });

    it.for([
      { outcome: RETRY, kind: 'retry' },
      { outcome: RELEASE, kind: 'release' },
    ])('keeps the place of what has begun: $kind', async ({ outcome }, { bed }) => {
      bed.order = 'continue';
      await publishAll(bed, FIRST, SECOND);
      await bed.settle(await bed.claimOne(), outcome);
      await bed.publish(THIRD, { due: { at: 1 } });
      await bed.advance(1);

      expect(await claimable(bed)).toEqual([FIRST]);
    });

    it.for<{ outcome: Outcome; kind: string }>([
      { outcome: { kind: 'retry', delay: 60, failure: FAILURE }, kind: 'retry' },
      { outcome: { kind: 'put-off', delay: 60 }, kind: 'put off' },
    ])('hands out nothing of the key while what has begun waits: $kind', async ({ outcome }, { bed }) => {
      bed.order = 'continue';
      await publishAll(bed, FIRST, SECOND);
      await bed.settle(await bed.claimOne(), outcome);

      expect(await claimable(bed)).toEqual([]);
      expect(await isBlockedBy(bed, SECOND)).toBe(FIRST);
      await bed.advance(70);
      expect(await claimable(bed)).toEqual([FIRST]);
    });

    it('hands what has begun out again once its lease has ended, and nothing else of its key', async ({ bed }) => {
      bed.order = 'continue';
      await publishAll(bed, FIRST, SECOND);
      await bed.claim({ lease: 50 });
      await bed.advance(60);

      expect(await claimable(bed)).toEqual([FIRST]);
    });

    it('counts what is blocked though its time has come', async ({ bed }) => {
      bed.order = 'continue';
      await publishAll(bed, FIRST, SECOND);
      await bed.publish(THIRD, { due: { after: LONG } });

      const counted = { due: 1, blocked: 2, blockedDue: 1, oldestBlockedDueAt: LONG_AGO };
      expect(await bed.stats()).toMatchObject(counted);
    });

    it('says of what is blocked that it is scheduled, and behind what', async ({ bed }) => {
      bed.order = 'continue';
      await publishAll(bed, FIRST, SECOND, THIRD);

      expect(await bed.get(FIRST)).not.toHaveProperty('blockedBy');
      expect(await bed.get(THIRD)).toMatchObject({ state: 'scheduled', at: LONG_AGO, blockedBy: FIRST });
      expect(await bed.stats()).toMatchObject({ scheduled: 3, due: 1, blocked: 2 });
      const request = { state: 'scheduled', limit: 10, maxBytes: 1_000_000 } as const;
      const listed = await Promise.all(
        [false, true].map(async (blocked) => bed.broker.messages.peek(bed.partition, { ...request, blocked })),
      );
      expect(listed.map(({ messages }) => messages.map(({ storedId }) => storedId))).toEqual([
        [FIRST],
        [THIRD, SECOND],
      ]);
    });

    it('hands the next one out once the one before is acknowledged, and signals it', async ({ bed }) => {
      bed.order = 'continue';
      await publishAll(bed, FIRST, SECOND);
      const claimed = await bed.claimOne();
      expect((await bed.claim()).nextAt).toBe(await leaseEnd(bed, FIRST));
      await bed.settle(claimed, ACK);

      expect((await bed.claim({ max: 0 })).nextAt).toBe(LONG_AGO);
      expect(await claimable(bed)).toEqual([SECOND]);
    });

    it('goes on behind a dead letter', async ({ bed }) => {
      bed.order = 'continue';
      await publishAll(bed, FIRST, SECOND);
      await bed.settle(await bed.claimOne(), DEAD);

      expect(await claimable(bed)).toEqual([SECOND]);
    });

    it('goes on behind what was cancelled while it waits', async ({ bed }) => {
      bed.order = 'continue';
      await publishAll(bed, FIRST, SECOND);
      await bed.cancel(FIRST);

      expect(await claimable(bed)).toEqual([SECOND]);
    });

    it('goes on behind what was cancelled while it runs, once it has ended', async ({ bed }) => {
      bed.order = 'continue';
      await publishAll(bed, FIRST, SECOND);
      const delivery = await bed.claimOne();
      await bed.cancel(FIRST);
      expect(await claimable(bed)).toEqual([]);
      await bed.settle(delivery, RETRY);

      expect(await claimable(bed)).toEqual([SECOND]);
    });

    it('goes on behind what was cancelled and whose lease has ended', async ({ bed }) => {
      bed.order = 'continue';
      await publishAll(bed, FIRST, SECOND);
      await bed.claim({ lease: 50 });
      await bed.cancel(FIRST);
      await bed.advance(60);

      expect(await handledInTurn(bed)).toEqual([SECOND]);
      expect(await bed.get(FIRST)).toBeUndefined();
    });

    it('forgets what is cancelled while it is blocked', async ({ bed }) => {
      bed.order = 'continue';
      await publishAll(bed, FIRST, SECOND, THIRD);
      expect(await bed.cancel(SECOND)).toBe('cancelled');

      expect(await handledInTurn(bed)).toEqual([FIRST, THIRD]);
      expect(await bed.get(SECOND)).toBeUndefined();
    });

    it('removes all that wait, those that are blocked too', async ({ bed }) => {
      bed.order = 'continue';
      await publishAll(bed, FIRST, SECOND, THIRD, OTHER);
      let removed = 0;
      for (let more = true; more;) {
        const result = await bed.broker.messages.clear(bed.partition, bed.nextCall(), 'scheduled');
        removed += result.removed;
        more = result.more;
      }

      expect(removed).toBe(4);
      expect(await bed.stats()).toMatchObject({ scheduled: 0, blocked: 0 });
    });

    it('removes those that are blocked before those that lead, a hundred at a time', async ({ bed }) => {
      bed.order = 'continue';
      await bed.publishAll(Array.from({ length: 130 }, (_, n) => message(`${n}\0k`)));

      expect(await bed.broker.messages.clear(bed.partition, bed.nextCall(), 'scheduled')).toEqual({
        removed: 100,
        more: true,
      });
      expect(await bed.stats()).toMatchObject({ due: 1, blocked: 29 });
      expect(await bed.broker.messages.clear(bed.partition, bed.nextCall(), 'scheduled')).toEqual({
        removed: 30,
        more: false,
      });
      expect(await bed.stats()).toMatchObject({ scheduled: 0, blocked: 0 });
    });

    it('edits what is blocked', async ({ bed }) => {
      bed.order = 'continue';
      await publishAll(bed, FIRST, SECOND);
      const { envelope: expected } = (await bed.get(SECOND)) as { envelope: string };
      const edit = { storedId: SECOND, expected, envelope: '[9]' };

      expect(await bed.broker.messages.edit(bed.partition, bed.nextCall(), edit)).toBe('edited');
      expect(await bed.get(SECOND)).toMatchObject({ envelope: '[9]', blockedBy: FIRST });
    });

    it('refuses, and ignores, an id that is blocked', async ({ bed }) => {
      bed.order = 'continue';
      await publishAll(bed, FIRST, SECOND);

      expect(await bed.publish(SECOND)).toMatchObject({ status: 'rejected', dueAt: LONG_AGO });
      expect(await bed.publish(SECOND, { onDuplicate: 'ignore' })).toMatchObject({
        status: 'ignored',
        dueAt: LONG_AGO,
      });
    });
  });

  describe('an ordered topic whose dead letters block', () => {
    it('hands out nothing more of the key', async ({ bed }) => {
      await withDeadLetter(bed);

      expect(await claimable(bed)).toEqual([OTHER]);
      expect(await isBlockedBy(bed, SECOND)).toBe(FIRST);
      await bed.publish(THIRD, { due: { at: 1 } });
      expect(await claimable(bed)).toEqual([]);
    });

    it('goes on once it is requeued', async ({ bed }) => {
      await withDeadLetter(bed);
      await requeue(bed, FIRST);
      await bed.advance(1);

      expect(await handledInTurn(bed)).toEqual([SECOND, OTHER, FIRST]);
    });

    it.for<{ how: string; remove: (bed: BrokerBed) => Promise<unknown> }>([
      {
        how: 'removed',
        remove: async (bed) =>
          bed.broker.deadLetters.removeDead(bed.partition, bed.nextCall(), [await deathOf(bed, FIRST)]),
      },
      { how: 'trimmed', remove: async (bed) => bed.broker.deadLetters.trimDead(bed.partition, { maxCount: 0 }) },
      { how: 'purged', remove: async (bed) => bed.broker.messages.clear(bed.partition, bed.nextCall(), 'dead') },
      { how: 'replaced', remove: async (bed) => bed.publish(FIRST, { onDuplicate: 'replace', due: { after: LONG } }) },
    ])('goes on once it is $how', async ({ remove }, { bed }) => {
      await withDeadLetter(bed);
      await remove(bed);

      expect((await claimable(bed)).toSorted()).toEqual([SECOND, OTHER].toSorted());
    });

    it('blocks by what was set aside, too', async ({ bed }) => {
      bed.order = 'block';
      await publishAll(bed, FIRST, SECOND);
      const claimed = await bed.claimOne();
      await bed.broker.deliveries.setAside(bed.partition, claimed, FAILURE);

      expect(await claimable(bed)).toEqual([]);
    });
  });
}

async function leaseEnd(bed: BrokerBed, storedId: string): Promise<number> {
  return ((await bed.get(storedId)) as { at: number }).at;
}
