import { describe, expect } from 'vitest';
import type { PeekRequest, Position, StoredMessage } from '../../lib/store/messages/stored-message.js';
import { toStoredId } from '../../lib/messages/stored-id.js';
import {
  type BrokerBed,
  type BrokerTest,
  ACK,
  DEAD,
  LONG,
  LONG_AGO,
  RETRY_LATER,
  message,
} from '../support/broker/broker-bed.js';

const ALL: PeekRequest = { state: 'scheduled', limit: 200, maxBytes: 1_048_576 };

async function idsOf(bed: BrokerBed, request: Partial<PeekRequest> = {}): Promise<string[]> {
  const { messages } = await bed.broker.messages.peek(bed.partition, { ...ALL, ...request });
  return messages.map(({ storedId }) => storedId);
}

/** Reads page by page to the end; `between` is called after each page. */
async function pages(
  bed: BrokerBed,
  request: Partial<PeekRequest>,
  between: (page: number) => Promise<unknown> = async () => undefined,
): Promise<string[][]> {
  const all: string[][] = [];
  let after: Position | undefined;
  do {
    const { messages, next } = await bed.broker.messages.peek(bed.partition, { ...ALL, ...request, after });
    all.push(messages.map(({ storedId }) => storedId));
    after = next;
    await between(all.length);
  } while (after);
  return all;
}

export function peekContract(it: BrokerTest): void {
  describe('peek', () => {
    it('shows nothing where nothing is', async ({ bed }) => {
      for (const state of ['scheduled', 'due', 'in-flight', 'dead'] as const) {
        const peeked = await bed.broker.messages.peek(bed.partition, { ...ALL, state });
        expect(peeked).toEqual({ messages: [], next: undefined });
      }
    });

    it('begins at a time behind the place that comes before all ids', async ({ bed }) => {
      const due = [LONG_AGO - 1, LONG_AGO, LONG_AGO, LONG_AGO + 1];
      await bed.publishAll(due.map((at, i) => message(`${i}`, { due: { at } })));
      expect(await idsOf(bed, { after: { at: LONG_AGO, storedId: '\0' } })).toEqual(['1', '2', '3']);
    });

    it('shows each state as get() does', async ({ bed }) => {
      await bed.settled('dead', DEAD);
      await bed.settled('again', RETRY_LATER);
      await bed.deliver('in flight');
      await bed.publishAll([message('due'), message('later', { due: { after: LONG } })]);

      const expected = {
        scheduled: ['due', 'again', 'later'],
        due: ['due'],
        'in-flight': ['in flight'],
        dead: ['dead'],
      };
      for (const [state, ids] of Object.entries(expected)) {
        const request = { ...ALL, state: state as PeekRequest['state'] };
        const { messages } = await bed.broker.messages.peek(bed.partition, request);
        const stored = await Promise.all(ids.map((id) => bed.get(id)));
        expect(messages.toSorted(byId)).toEqual((stored as StoredMessage[]).toSorted(byId));
      }
    });

    it('is in order of time, equal ones in order of bytes', async ({ bed }) => {
      const due = { at: 7 };
      await bed.publishAll([
        message('b', { due }),
        message('\u{1F600}', { due }),
        message('Ｚ', { due }),
        message('a', { due }),
        message(toStoredId('a', 'k'), { due }),
        message('ä', { due }),
        message('B', { due }),
        message('zero', { due: { at: 3 } }),
      ]);

      expect(await idsOf(bed)).toEqual(['zero', 'B', 'a', toStoredId('a', 'k'), 'b', 'ä', 'Ｚ', '\u{1F600}']);
      expect((await pages(bed, { limit: 1 })).flat()).toEqual(await idsOf(bed));
    });

    it('shows what is due from its time on', async ({ bed }) => {
      await bed.publishAll([message('soon', { due: { after: 20 } }), message('late', { due: { after: LONG } })]);
      await bed.advance(21);

      expect(await idsOf(bed, { state: 'due' })).toEqual(['soon']);
      expect(await pages(bed, { state: 'due', limit: 1 })).toContainEqual(['soon']);
    });

    it('goes on behind a message that is gone', async ({ bed }) => {
      await bed.publishAll(['a', 'b', 'c', 'd'].map((id) => message(id, { due: { at: 5 } })));

      const listed = await pages(bed, { limit: 2 }, async (page) => page === 1 && bed.cancel('b'));

      expect(listed.flat()).toEqual(['a', 'b', 'c', 'd']);
    });

    it('goes on behind a message that has moved', async ({ bed }) => {
      await bed.publishAll(['a', 'b', 'c', 'd'].map((id, i) => message(id, { due: { at: 10 * i } })));

      const listed = await pages(bed, { limit: 2 }, async (page) => page === 1 && bed.reschedule('b', { at: 25 }));

      expect(listed.flat()).toEqual(['a', 'b', 'c', 'b', 'd']);
    });

    it('skips nothing that was there all along, and repeats nothing, whatever comes and goes', async ({ bed }) => {
      const staying = Array.from({ length: 60 }, (_, i) => `m${String(i).padStart(2, '0')}`);
      const going = staying.map((id) => `${id}-going`);
      await bed.publishAll([...staying, ...going].map((id, i) => message(id, { due: inThrees(i % 60) })));

      let coming = 0;
      const listed = await pages(bed, { limit: 7 }, async (page) => {
        await bed.cancel(going[(page * 13) % 60] ?? '');
        await bed.cancel(going[page] ?? '');
        await bed.publish(`m${String((page * 7) % 60).padStart(2, '0')}-coming-${coming++}`, { due: inThrees(page) });
      });

      expect(coming).toBeGreaterThan(10);
      expect(listed.flat().filter((id) => staying.includes(id))).toEqual(staying);
      expect(new Set(listed.flat()).size).toBe(listed.flat().length);
    });

    it('ends early where messages are large, with one at least', async ({ bed }) => {
      const envelope = `[1,"${'x'.repeat(1000)}"]`;
      await bed.publishAll(['a', 'b', 'c'].map((id, i) => message(id, { envelope, due: { at: i } })));

      expect(await pages(bed, { maxBytes: 1500 })).toEqual([['a', 'b'], ['c']]);
      expect(await pages(bed, { maxBytes: 1 })).toEqual([['a'], ['b'], ['c']]);
    });

    it('counts failures as part of the size', async ({ bed }) => {
      const failure = { reason: 'failed', name: 'Error', message: 'x'.repeat(1000) } as const;
      for (const id of ['a', 'b', 'c']) {
        await bed.settled(id, { kind: 'dead', failure });
        await bed.advance(1);
      }

      expect(await pages(bed, { state: 'dead', maxBytes: 1500 })).toEqual([['a', 'b'], ['c']]);
    });

    it('changes nothing', async ({ bed }) => {
      await bed.publish('a');
      const before = await bed.stats();
      for (const state of ['scheduled', 'due', 'in-flight', 'dead'] as const) await idsOf(bed, { state });

      expect(await bed.stats()).toEqual(before);
      expect(await bed.settle(await bed.claimOne(), ACK)).toBe('settled');
    });
  });
}

/** Gives every three messages the same due time. */
function inThrees(i: number): { at: number } {
  return { at: 100 * Math.floor(i / 3) };
}

function byId(a: StoredMessage, b: StoredMessage): number {
  return a.storedId < b.storedId ? -1 : 1;
}
