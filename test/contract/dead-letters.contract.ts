import { describe, expect } from 'vitest';
import type { DeadLetterQuery, Death, ListedDeadLetter } from '../../lib/store/dead-letters/dead-letters.js';
import { toStoredId } from '../../lib/messages/stored-id.js';
import {
  type BrokerBed,
  type BrokerTest,
  ACK,
  DEAD,
  FAILURE,
  LONG,
  RETRY_LATER,
  message,
} from '../support/broker/broker-bed.js';
import { Received } from '../support/broker/received.js';

/** Each dies in a call of its own, so they have the order of the ids given. */
async function die(bed: BrokerBed, ids: readonly string[]): Promise<Death[]> {
  const deaths: Death[] = [];
  for (const storedId of ids) {
    await bed.settled(storedId, DEAD);
    deaths.push({ storedId, diedAt: (await bed.get(storedId))?.at ?? NaN });
    await bed.advance(1);
  }
  return deaths;
}

async function dieTogether(bed: BrokerBed, ids: readonly string[]): Promise<void> {
  await bed.publishAll(ids.map((id) => message(id)));
  const { messages } = await bed.claim();
  await bed.settleAll(messages.map((claimed) => [claimed, DEAD]));
}

function list(bed: BrokerBed, query: Partial<DeadLetterQuery> = {}) {
  return bed.broker.deadLetters.listDead(bed.partition, { limit: 200, withFailures: false, ...query });
}

function requeue(bed: BrokerBed, deaths: readonly Death[], delay = 0, call = bed.nextCall()) {
  return bed.broker.deadLetters.requeueDead(bed.partition, call, deaths, delay);
}

function idsOf(letters: readonly ListedDeadLetter[]): string[] {
  return letters.map(({ storedId }) => storedId);
}

/** Reads page by page; `between` happens after each page. */
async function listAll(bed: BrokerBed, limit: number, between: (page: number) => Promise<unknown> = async () => {}) {
  const pages: string[][] = [];
  let after: Death | undefined;
  do {
    const { letters, next } = await list(bed, { limit, after });
    pages.push(idsOf(letters));
    after = next;
    await between(pages.length);
  } while (after);
  return pages;
}

export function deadLettersContract(it: BrokerTest): void {
  describe('listDead', () => {
    it('finds nothing where nothing is dead', async ({ bed }) => {
      await bed.publish('waits', { due: { after: LONG } });
      const before = Math.floor(await bed.time());
      const { letters, next, now } = await list(bed);
      expect([letters, next]).toEqual([[], undefined]);
      expect(now).toBeGreaterThanOrEqual(before);
      expect(now).toBeLessThanOrEqual(await bed.time());
    });

    it('has them in order of death, with their failures where they are asked for', async ({ bed }) => {
      const [first, second] = await die(bed, ['z', 'a']);

      expect((await list(bed)).letters).toEqual([
        { ...first, failure: undefined },
        { ...second, failure: undefined },
      ]);
      expect((await list(bed, { withFailures: true })).letters).toEqual([
        { ...first, failure: FAILURE },
        { ...second, failure: FAILURE },
      ]);
    });

    it('has those of one time in order of the bytes of their stored ids', async ({ bed }) => {
      const ids = ['a', 'B', 'é', 'z', '\u{1F600}', '\uFFFD', toStoredId('a', 'key'), 'aa', '10', '9'];
      await dieTogether(bed, ids);

      const inOrder = ids.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      expect(idsOf((await list(bed)).letters)).toEqual(inOrder);
      expect((await listAll(bed, 1)).flat()).toEqual(inOrder);
    });

    it('lists page by page', async ({ bed }) => {
      await dieTogether(
        bed,
        Array.from({ length: 7 }, (_, i) => `m-${i}`),
      );

      expect(await listAll(bed, 3)).toEqual([['m-0', 'm-1', 'm-2'], ['m-3', 'm-4', 'm-5'], ['m-6']]);
    });

    it('skips nothing that was there all along, whatever goes or comes between two pages', async ({ bed }) => {
      await dieTogether(
        bed,
        Array.from({ length: 8 }, (_, i) => `m-${i}`),
      );
      const [died] = (await list(bed)).letters;
      const remove = (ids: string[]) =>
        bed.broker.deadLetters.removeDead(
          bed.partition,
          bed.nextCall(),
          ids.map((storedId) => ({ storedId, diedAt: died?.diedAt ?? NaN })),
        );

      const pages = await listAll(bed, 3, async (page) => {
        // The last one of the page goes too, which is where the next page begins.
        if (page === 1) await remove(['m-0', 'm-2']);
        if (page === 2) {
          await bed.advance(1);
          await die(bed, ['late']);
        }
      });

      expect(pages).toEqual(
        [
          ['m-0', 'm-1', 'm-2'],
          ['m-3', 'm-4', 'm-5'],
          ['m-6', 'm-7', 'late'],
        ].concat([[]]),
      );
    });

    it('lists those that died in a time, its end not included', async ({ bed }) => {
      const [first, second, third] = await die(bed, ['a', 'b', 'c']);

      expect(idsOf((await list(bed, { since: second?.diedAt })).letters)).toEqual(['b', 'c']);
      expect(idsOf((await list(bed, { until: second?.diedAt })).letters)).toEqual(['a']);
      expect(idsOf((await list(bed, { since: first?.diedAt, until: third?.diedAt })).letters)).toEqual(['a', 'b']);
      const { letters, next } = await list(bed, { until: third?.diedAt, limit: 2 });
      expect(idsOf(letters)).toEqual(['a', 'b']);
      expect((await list(bed, { until: third?.diedAt, after: next })).letters).toEqual([]);
    });
  });

  describe('requeueDead', () => {
    it('schedules a dead letter with all attempts before it, and keeps all else', async ({ bed }) => {
      const storedId = toStoredId('id', 'key');
      const [death] = await die(bed, [storedId]);
      const { envelope } = (await bed.get(storedId)) ?? {};
      const before = await bed.time();

      expect(await requeue(bed, [death as Death], LONG)).toEqual([true]);

      const stored = await bed.get(storedId);
      expect(stored).toMatchObject({ state: 'scheduled', envelope, deliveries: 1, attempts: 0, failure: FAILURE });
      expect(stored?.at).toBeGreaterThanOrEqual(before + LONG);
      expect(stored?.at).toBeLessThanOrEqual((await bed.time()) + LONG + 1);
      expect(await bed.stats()).toMatchObject({ scheduled: 1, dead: 0 });
      expect(await bed.broker.messages.locate(bed.partition, 'id')).toEqual([storedId]);
    });

    it('delivers it again under the next delivery number', async ({ bed }) => {
      const [death] = await die(bed, ['a']);
      await requeue(bed, [death as Death]);
      await bed.advance(1);

      const claimed = await bed.claimOne();

      expect(claimed).toMatchObject({ storedId: 'a', delivery: 2, attempt: 1 });
      expect(await bed.settle(claimed, ACK)).toBe('settled');
      expect(await bed.get('a')).toBeUndefined();
    });

    it('leaves a message alone that died at another time, is not dead, or is not there', async ({ bed }) => {
      const [death] = await die(bed, ['a']);
      await bed.settled('waits', RETRY_LATER);
      const { diedAt } = death as Death;

      const wrong = [
        { storedId: 'a', diedAt: diedAt - 1 },
        { storedId: 'waits', diedAt },
        { storedId: 'none', diedAt },
      ];
      expect(await requeue(bed, wrong)).toEqual([false, false, false]);

      expect(await bed.get('a')).toMatchObject({ state: 'dead', at: diedAt });
      expect(await bed.get('waits')).toMatchObject({ state: 'scheduled', attempts: 1 });
    });

    it('takes one that is named twice once', async ({ bed }) => {
      const [death] = (await die(bed, ['a'])) as [Death];
      expect(await requeue(bed, [death, death])).toEqual([true, false]);
    });

    it('puts another envelope in the place of the stored one', async ({ bed }) => {
      const [death] = (await die(bed, ['a'])) as [Death];
      expect(await requeue(bed, [{ ...death, envelope: '[2,"edited"]' } as Death])).toEqual([true]);
      await bed.advance(1);
      expect(await bed.claimOne()).toMatchObject({ storedId: 'a', envelope: '[2,"edited"]' });
    });

    it('tells the owner where it becomes the earliest', async ({ bed }) => {
      const [death] = (await die(bed, ['a'])) as [Death];
      await bed.publish('later', { due: { after: 2 * LONG } });
      const received = new Received();
      await bed.earlierSignalsArrived();
      bed.broker.watchPartition(bed.partition, received.listener);
      await bed.broker.link.listen();

      await requeue(bed, [death], LONG);
      await received.atLeast(1);
      await bed.signalsArrived();

      const { at } = (await bed.get('a')) ?? {};
      expect(received.all).toEqual([{ kind: 'due', at }]);
    });

    it('takes many at once', async ({ bed }) => {
      const ids = Array.from({ length: 200 }, (_, i) => `m-${String(i).padStart(3, '0')}`);
      await dieTogether(bed, ids);
      const { letters } = await list(bed);

      expect(await requeue(bed, letters)).toEqual(ids.map(() => true));
      expect(await bed.stats()).toMatchObject({ scheduled: 200, dead: 0 });
    });

    it('repeated, since its reply was lost, gets the same answer and does not undo what came after', async ({
      bed,
    }) => {
      const deaths = await die(bed, ['a', 'b']);
      const call = { caller: 'operator', sequence: 7 };
      expect(await requeue(bed, deaths, 0, call)).toEqual([true, true]);
      await bed.advance(1);
      const { messages } = await bed.claim();
      await bed.settleAll(messages.map((claimed) => [claimed, DEAD]));

      expect(await requeue(bed, deaths, 0, call)).toEqual([true, true]);

      expect(await bed.stats()).toMatchObject({ scheduled: 0, dead: 2 });
      // Those are other deaths than the ones that were named.
      expect(await requeue(bed, deaths)).toEqual([false, false]);
      expect(await bed.stats()).toMatchObject({ scheduled: 0, dead: 2 });
    });
  });

  describe('removeDead', () => {
    it('leaves nothing of a dead letter', async ({ bed }) => {
      const storedId = toStoredId('id', 'key');
      const deaths = await die(bed, [storedId, 'other']);
      const call = bed.nextCall();

      expect(await bed.broker.deadLetters.removeDead(bed.partition, call, deaths.slice(0, 1))).toEqual([true]);

      expect(await bed.get(storedId)).toBeUndefined();
      expect(await bed.get('other')).toMatchObject({ state: 'dead' });
      expect(await bed.broker.messages.locate(bed.partition, 'id')).toEqual([]);
      expect(await bed.publish(storedId)).toMatchObject({ status: 'created' });
      expect(await bed.get(storedId)).toMatchObject({ deliveries: 0, attempts: 0, failure: undefined });
    });

    it('leaves alone what died at another time or is not dead, and answers a repeat as the first call', async ({
      bed,
    }) => {
      const [death] = (await die(bed, ['a'])) as [Death];
      await bed.publish('waits');
      const wrong = [
        { storedId: 'a', diedAt: death.diedAt + 1 },
        { storedId: 'waits', diedAt: death.diedAt },
      ];
      const remove = (deaths: readonly Death[], sequence: number) =>
        bed.broker.deadLetters.removeDead(bed.partition, { caller: 'operator', sequence }, deaths);

      expect(await remove(wrong, 1)).toEqual([false, false]);
      expect(await remove([death, death], 2)).toEqual([true, false]);
      expect(await remove([death, death], 2)).toEqual([true, false]);
      expect(await remove([death], 3)).toEqual([false]);
      expect(await bed.get('waits')).toMatchObject({ state: 'scheduled' });
    });
  });
}
