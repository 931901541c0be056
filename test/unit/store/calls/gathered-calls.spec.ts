import { describe, expect, it } from 'vitest';
import { GatheredCalls } from '../../../../lib/store/calls/gathered-calls.js';
import { BrokerUnavailableError } from '../../../../lib/errors/operation.errors.js';

const AWAY = new BrokerUnavailableError('away');
const DAMAGED = new BrokerUnavailableError('damaged', { transient: false });

describe('calls that are gathered', () => {
  it('are one call of what is asked at once in the same terms, of so many at most, and each gets its own answer', async () => {
    const calls: [number, readonly number[]][] = [];
    const gathered = new GatheredCalls({
      ask: async (items: readonly number[], terms: number) => {
        calls.push([terms, items]);
        return items.map((item) => item * terms);
      },
      most: (terms: number) => terms - 7,
    });
    const first = await Promise.all([
      ...[1, 2, 3, 4].map((item) => gathered.ask(item, 10)),
      ...[1, 2].map((item) => gathered.ask(item, 8)),
    ]);

    expect([first, await gathered.ask(5, 10)]).toEqual([[10, 20, 30, 40, 8, 16], 50]);
    expect(calls).toEqual([
      [10, [1, 2, 3]],
      [10, [4]],
      [8, [1]],
      [8, [2]],
      [10, [5]],
    ]);
  });

  it.each([
    ['hide no other if one of them is damaged', DAMAGED, [[1, 2], [1], [2]], ['fulfilled', 'rejected']],
    ['are not made again one by one if Redis is away', AWAY, [[1, 2]], ['rejected', 'rejected']],
  ])('%s', async (_, error, expected, outcomes) => {
    const calls: (readonly number[])[] = [];
    const gathered = new GatheredCalls({
      ask: async (items: readonly number[]) => {
        calls.push(items);
        if (items.includes(2)) throw error;
        return items;
      },
      most: () => 3,
    });
    const settled = await Promise.allSettled([1, 2].map((item) => gathered.ask(item, undefined)));

    expect(settled.map(({ status }) => status)).toEqual(outcomes);
    expect(calls).toEqual(expected);
  });
});
