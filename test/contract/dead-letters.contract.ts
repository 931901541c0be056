import { describe, expect } from 'vitest';
import type { DeadLetterQuery, Death, ListedDeadLetter } from '../../lib/broker/broker.interface.js';
import { toStoredId } from '../../lib/messages/stored-id.js';
import {
  type Bench,
  type BrokerTest,
  ACK,
  DEAD,
  FAILURE,
  LONG,
  RETRY_LATER,
  message,
} from '../support/contract-bench.js';
import { Received } from '../support/contract-signals.js';

/** Each dies in a call of its own, so they have the order of the ids given. */
async function die(bench: Bench, ids: readonly string[]): Promise<Death[]> {
  const deaths: Death[] = [];
  for (const storedId of ids) {
    await bench.settled(storedId, DEAD);
    deaths.push({ storedId, diedAt: (await bench.get(storedId))?.at ?? NaN });
    await bench.advance(1);
  }
  return deaths;
}

async function dieTogether(bench: Bench, ids: readonly string[]): Promise<void> {
  await bench.publishAll(ids.map((id) => message(id)));
  const { messages } = await bench.claim();
  await bench.settleAll(messages.map((claimed) => [claimed, DEAD]));
}

function list(bench: Bench, query: Partial<DeadLetterQuery> = {}) {
  return bench.broker.listDead(bench.partition, { limit: 200, withFailures: false, ...query });
}

function requeue(bench: Bench, deaths: readonly Death[], delay = 0, call = bench.nextCall()) {
  return bench.broker.requeueDead(bench.partition, call, deaths, delay);
}

function idsOf(letters: readonly ListedDeadLetter[]): string[] {
  return letters.map(({ storedId }) => storedId);
}

/** Reads page by page; `between` happens after each page. */
async function listAll(bench: Bench, limit: number, between: (page: number) => Promise<unknown> = async () => {}) {
  const pages: string[][] = [];
  let after: Death | undefined;
  do {
    const { letters, next } = await list(bench, { limit, after });
    pages.push(idsOf(letters));
    after = next;
    await between(pages.length);
  } while (after);
  return pages;
}

export function deadLettersContract(it: BrokerTest): void {
  describe('listDead', () => {
    it('finds nothing where nothing is dead', async ({ bench }) => {
      await bench.publish('waits', { due: { after: LONG } });
      const before = Math.floor(await bench.time());
      const { letters, next, now } = await list(bench);
      expect([letters, next]).toEqual([[], undefined]);
      expect(now).toBeGreaterThanOrEqual(before);
      expect(now).toBeLessThanOrEqual(await bench.time());
    });

    it('has them in order of death, with their failures where they are asked for', async ({ bench }) => {
      const [first, second] = await die(bench, ['z', 'a']);

      expect((await list(bench)).letters).toEqual([
        { ...first, failure: undefined },
        { ...second, failure: undefined },
      ]);
      expect((await list(bench, { withFailures: true })).letters).toEqual([
        { ...first, failure: FAILURE },
        { ...second, failure: FAILURE },
      ]);
    });

    it('has those of one time in order of the bytes of their stored ids', async ({ bench }) => {
      const ids = ['a', 'B', 'é', 'z', '\u{1F600}', '\uFFFD', toStoredId('a', 'key'), 'aa', '10', '9'];
      await dieTogether(bench, ids);

      const inOrder = ids.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      expect(idsOf((await list(bench)).letters)).toEqual(inOrder);
      expect((await listAll(bench, 1)).flat()).toEqual(inOrder);
    });

    it('lists page by page', async ({ bench }) => {
      await dieTogether(
        bench,
        Array.from({ length: 7 }, (_, i) => `m-${i}`),
      );

      expect(await listAll(bench, 3)).toEqual([['m-0', 'm-1', 'm-2'], ['m-3', 'm-4', 'm-5'], ['m-6']]);
    });

    it('skips nothing that was there all along, whatever goes or comes between two pages', async ({ bench }) => {
      await dieTogether(
        bench,
        Array.from({ length: 8 }, (_, i) => `m-${i}`),
      );
      const [died] = (await list(bench)).letters;
      const remove = (ids: string[]) =>
        bench.broker.removeDead(
          bench.partition,
          bench.nextCall(),
          ids.map((storedId) => ({ storedId, diedAt: died?.diedAt ?? NaN })),
        );

      const pages = await listAll(bench, 3, async (page) => {
        // The last one of the page goes too, which is where the next page begins.
        if (page === 1) await remove(['m-0', 'm-2']);
        if (page === 2) {
          await bench.advance(1);
          await die(bench, ['late']);
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

    it('lists those that died in a time, its end not included', async ({ bench }) => {
      const [first, second, third] = await die(bench, ['a', 'b', 'c']);

      expect(idsOf((await list(bench, { since: second?.diedAt })).letters)).toEqual(['b', 'c']);
      expect(idsOf((await list(bench, { until: second?.diedAt })).letters)).toEqual(['a']);
      expect(idsOf((await list(bench, { since: first?.diedAt, until: third?.diedAt })).letters)).toEqual(['a', 'b']);
      const { letters, next } = await list(bench, { until: third?.diedAt, limit: 2 });
      expect(idsOf(letters)).toEqual(['a', 'b']);
      expect((await list(bench, { until: third?.diedAt, after: next })).letters).toEqual([]);
    });
  });

  describe('requeueDead', () => {
    it('schedules a dead letter with all attempts before it, and keeps all else', async ({ bench }) => {
      const storedId = toStoredId('id', 'key');
      const [death] = await die(bench, [storedId]);
      const { envelope } = (await bench.get(storedId)) ?? {};
      const before = await bench.time();

      expect(await requeue(bench, [death as Death], LONG)).toEqual([true]);

      const stored = await bench.get(storedId);
      expect(stored).toMatchObject({ state: 'scheduled', envelope, deliveries: 1, attempts: 0, failure: FAILURE });
      expect(stored?.at).toBeGreaterThanOrEqual(before + LONG);
      expect(stored?.at).toBeLessThanOrEqual((await bench.time()) + LONG + 1);
      expect(await bench.broker.stats(bench.partition)).toMatchObject({ scheduled: 1, dead: 0 });
      expect(await bench.broker.locate(bench.partition, 'id')).toEqual([storedId]);
    });

    it('delivers it again under the next delivery number', async ({ bench }) => {
      const [death] = await die(bench, ['a']);
      await requeue(bench, [death as Death]);
      await bench.advance(1);

      const claimed = await bench.claimOne();

      expect(claimed).toMatchObject({ storedId: 'a', delivery: 2, attempt: 1 });
      expect(await bench.settle(claimed, ACK)).toBe('settled');
      expect(await bench.get('a')).toBeUndefined();
    });

    it('leaves a message alone that died at another time, is not dead, or is not there', async ({ bench }) => {
      const [death] = await die(bench, ['a']);
      await bench.settled('waits', RETRY_LATER);
      const { diedAt } = death as Death;

      const wrong = [
        { storedId: 'a', diedAt: diedAt - 1 },
        { storedId: 'waits', diedAt },
        { storedId: 'none', diedAt },
      ];
      expect(await requeue(bench, wrong)).toEqual([false, false, false]);

      expect(await bench.get('a')).toMatchObject({ state: 'dead', at: diedAt });
      expect(await bench.get('waits')).toMatchObject({ state: 'scheduled', attempts: 1 });
    });

    it('takes one that is named twice once', async ({ bench }) => {
      const [death] = (await die(bench, ['a'])) as [Death];
      expect(await requeue(bench, [death, death])).toEqual([true, false]);
    });

    it('puts another envelope in the place of the stored one', async ({ bench }) => {
      const [death] = (await die(bench, ['a'])) as [Death];
      expect(await requeue(bench, [{ ...death, envelope: '[2,"edited"]' } as Death])).toEqual([true]);
      await bench.advance(1);
      expect(await bench.claimOne()).toMatchObject({ storedId: 'a', envelope: '[2,"edited"]' });
    });

    it('tells the owner where it becomes the earliest', async ({ bench }) => {
      const [death] = (await die(bench, ['a'])) as [Death];
      await bench.publish('later', { due: { after: 2 * LONG } });
      const received = new Received();
      await bench.earlierSignalsArrived();
      bench.broker.watchPartition(bench.partition, received.listener);
      await bench.broker.link.listen();

      await requeue(bench, [death], LONG);
      await received.atLeast(1);
      await bench.signalsArrived();

      const { at } = (await bench.get('a')) ?? {};
      expect(received.all).toEqual([{ kind: 'due', at }]);
    });

    it('takes many at once', async ({ bench }) => {
      const ids = Array.from({ length: 200 }, (_, i) => `m-${String(i).padStart(3, '0')}`);
      await dieTogether(bench, ids);
      const { letters } = await list(bench);

      expect(await requeue(bench, letters)).toEqual(ids.map(() => true));
      expect(await bench.broker.stats(bench.partition)).toMatchObject({ scheduled: 200, dead: 0 });
    });

    it('repeated, since its reply was lost, gets the same answer and does not undo what came after', async ({
      bench,
    }) => {
      const deaths = await die(bench, ['a', 'b']);
      const call = { caller: 'operator', sequence: 7 };
      expect(await requeue(bench, deaths, 0, call)).toEqual([true, true]);
      await bench.advance(1);
      const { messages } = await bench.claim();
      await bench.settleAll(messages.map((claimed) => [claimed, DEAD]));

      expect(await requeue(bench, deaths, 0, call)).toEqual([true, true]);

      expect(await bench.broker.stats(bench.partition)).toMatchObject({ scheduled: 0, dead: 2 });
      // Those are other deaths than the ones that were named.
      expect(await requeue(bench, deaths)).toEqual([false, false]);
      expect(await bench.broker.stats(bench.partition)).toMatchObject({ scheduled: 0, dead: 2 });
    });
  });

  describe('removeDead', () => {
    it('leaves nothing of a dead letter', async ({ bench }) => {
      const storedId = toStoredId('id', 'key');
      const deaths = await die(bench, [storedId, 'other']);
      const call = bench.nextCall();

      expect(await bench.broker.removeDead(bench.partition, call, deaths.slice(0, 1))).toEqual([true]);

      expect(await bench.get(storedId)).toBeUndefined();
      expect(await bench.get('other')).toMatchObject({ state: 'dead' });
      expect(await bench.broker.locate(bench.partition, 'id')).toEqual([]);
      expect(await bench.publish(storedId)).toMatchObject({ status: 'created' });
      expect(await bench.get(storedId)).toMatchObject({ deliveries: 0, attempts: 0, failure: undefined });
    });

    it('leaves alone what died at another time or is not dead, and answers a repeat as the first call', async ({
      bench,
    }) => {
      const [death] = (await die(bench, ['a'])) as [Death];
      await bench.publish('waits');
      const wrong = [
        { storedId: 'a', diedAt: death.diedAt + 1 },
        { storedId: 'waits', diedAt: death.diedAt },
      ];
      const remove = (deaths: readonly Death[], sequence: number) =>
        bench.broker.removeDead(bench.partition, { caller: 'operator', sequence }, deaths);

      expect(await remove(wrong, 1)).toEqual([false, false]);
      expect(await remove([death, death], 2)).toEqual([true, false]);
      expect(await remove([death, death], 2)).toEqual([true, false]);
      expect(await remove([death], 3)).toEqual([false]);
      expect(await bench.get('waits')).toMatchObject({ state: 'scheduled' });
    });
  });
}
