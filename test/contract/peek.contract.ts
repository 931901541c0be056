import { describe, expect } from 'vitest';
import type { PeekRequest, Position, StoredMessage } from '../../lib/broker/broker.interface.js';
import { toStoredId } from '../../lib/messages/stored-id.js';
import { type Bench, type BrokerTest, ACK, DEAD, LONG, RETRY_LATER, message } from '../support/contract-bench.js';

const ALL: PeekRequest = { state: 'scheduled', limit: 200, maxBytes: 1_048_576 };

async function idsOf(bench: Bench, request: Partial<PeekRequest> = {}): Promise<string[]> {
  const { messages } = await bench.broker.peek(bench.partition, { ...ALL, ...request });
  return messages.map(({ storedId }) => storedId);
}

/** Reads page by page to the end; `between` is called after each page. */
async function pages(
  bench: Bench,
  request: Partial<PeekRequest>,
  between: (page: number) => Promise<unknown> = async () => undefined,
): Promise<string[][]> {
  const all: string[][] = [];
  let after: Position | undefined;
  do {
    const { messages, next } = await bench.broker.peek(bench.partition, { ...ALL, ...request, after });
    all.push(messages.map(({ storedId }) => storedId));
    after = next;
    await between(all.length);
  } while (after);
  return all;
}

export function peekContract(it: BrokerTest): void {
  describe('peek', () => {
    it('shows nothing where nothing is', async ({ bench }) => {
      for (const state of ['scheduled', 'due', 'in-flight', 'dead'] as const) {
        const peeked = await bench.broker.peek(bench.partition, { ...ALL, state });
        expect(peeked).toEqual({ messages: [], next: undefined });
      }
    });

    it('shows each state as get() does', async ({ bench }) => {
      await bench.settled('dead', DEAD);
      await bench.settled('again', RETRY_LATER);
      await bench.deliver('in flight');
      await bench.publishAll([message('due'), message('later', { due: { after: LONG } })]);

      const expected = {
        scheduled: ['due', 'again', 'later'],
        due: ['due'],
        'in-flight': ['in flight'],
        dead: ['dead'],
      };
      for (const [state, ids] of Object.entries(expected)) {
        const request = { ...ALL, state: state as PeekRequest['state'] };
        const { messages } = await bench.broker.peek(bench.partition, request);
        const stored = await Promise.all(ids.map((id) => bench.get(id)));
        expect(messages.toSorted(byId)).toEqual((stored as StoredMessage[]).toSorted(byId));
      }
    });

    it('is in order of time, equal ones in order of bytes', async ({ bench }) => {
      const due = { at: 7 };
      await bench.publishAll([
        message('b', { due }),
        message('\u{1F600}', { due }),
        message('Ｚ', { due }),
        message('a', { due }),
        message(toStoredId('a', 'k'), { due }),
        message('ä', { due }),
        message('B', { due }),
        message('zero', { due: { at: 3 } }),
      ]);

      expect(await idsOf(bench)).toEqual(['zero', 'B', 'a', toStoredId('a', 'k'), 'b', 'ä', 'Ｚ', '\u{1F600}']);
      expect((await pages(bench, { limit: 1 })).flat()).toEqual(await idsOf(bench));
    });

    it('shows what is due from its time on', async ({ bench }) => {
      await bench.publishAll([message('soon', { due: { after: 20 } }), message('late', { due: { after: LONG } })]);
      await bench.advance(21);

      expect(await idsOf(bench, { state: 'due' })).toEqual(['soon']);
      expect(await pages(bench, { state: 'due', limit: 1 })).toContainEqual(['soon']);
    });

    it('goes on behind a message that is gone', async ({ bench }) => {
      await bench.publishAll(['a', 'b', 'c', 'd'].map((id) => message(id, { due: { at: 5 } })));

      const listed = await pages(bench, { limit: 2 }, async (page) => page === 1 && bench.cancel('b'));

      expect(listed.flat()).toEqual(['a', 'b', 'c', 'd']);
    });

    it('goes on behind a message that has moved', async ({ bench }) => {
      await bench.publishAll(['a', 'b', 'c', 'd'].map((id, i) => message(id, { due: { at: 10 * i } })));

      const listed = await pages(bench, { limit: 2 }, async (page) => page === 1 && bench.reschedule('b', { at: 25 }));

      expect(listed.flat()).toEqual(['a', 'b', 'c', 'b', 'd']);
    });

    it('skips nothing that was there all along, and repeats nothing, whatever comes and goes', async ({ bench }) => {
      const staying = Array.from({ length: 60 }, (_, i) => `m${String(i).padStart(2, '0')}`);
      const going = staying.map((id) => `${id}-going`);
      await bench.publishAll([...staying, ...going].map((id, i) => message(id, { due: inThrees(i % 60) })));

      let coming = 0;
      const listed = await pages(bench, { limit: 7 }, async (page) => {
        await bench.cancel(going[(page * 13) % 60] ?? '');
        await bench.cancel(going[page] ?? '');
        await bench.publish(`m${String((page * 7) % 60).padStart(2, '0')}-coming-${coming++}`, { due: inThrees(page) });
      });

      expect(coming).toBeGreaterThan(10);
      expect(listed.flat().filter((id) => staying.includes(id))).toEqual(staying);
      expect(new Set(listed.flat()).size).toBe(listed.flat().length);
    });

    it('ends early where messages are large, with one at least', async ({ bench }) => {
      const envelope = `[1,"${'x'.repeat(1000)}"]`;
      await bench.publishAll(['a', 'b', 'c'].map((id, i) => message(id, { envelope, due: { at: i } })));

      expect(await pages(bench, { maxBytes: 1500 })).toEqual([['a', 'b'], ['c']]);
      expect(await pages(bench, { maxBytes: 1 })).toEqual([['a'], ['b'], ['c']]);
    });

    it('counts failures as part of the size', async ({ bench }) => {
      const failure = { reason: 'failed', name: 'Error', message: 'x'.repeat(1000) } as const;
      for (const id of ['a', 'b', 'c']) {
        await bench.settled(id, { kind: 'dead', failure });
        await bench.advance(1);
      }

      expect(await pages(bench, { state: 'dead', maxBytes: 1500 })).toEqual([['a', 'b'], ['c']]);
    });

    it('changes nothing', async ({ bench }) => {
      await bench.publish('a');
      const before = await bench.broker.stats(bench.partition);
      for (const state of ['scheduled', 'due', 'in-flight', 'dead'] as const) await idsOf(bench, { state });

      expect(await bench.broker.stats(bench.partition)).toEqual(before);
      expect(await bench.settle(await bench.claimOne(), ACK)).toBe('settled');
    });
  });
}

/** Due times that three each have in common. */
function inThrees(i: number): { at: number } {
  return { at: 100 * Math.floor(i / 3) };
}

function byId(a: StoredMessage, b: StoredMessage): number {
  return a.storedId < b.storedId ? -1 : 1;
}
