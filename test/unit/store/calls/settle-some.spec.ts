import { expect, it } from 'vitest';
import { settleSome } from '../../../../lib/store/calls/settle-some.js';
import { BrokerUnavailableError } from '../../../../lib/errors/operation.errors.js';

it.each([
  ['all that are left once one is away', new BrokerUnavailableError('away'), [1, 2, 1, 2, 3, 4]],
  ['some at a time if one is damaged', new BrokerUnavailableError('damaged', { transient: false }), [1, 2, 1, 2, 1, 2]],
])('%s are asked about at once', async (_, error, expected) => {
  let underWay = 0;
  const counts: number[] = [];
  const results = await settleSome(
    [1, 2, 3, 4, 5, 6],
    async (item) => {
      counts.push(++underWay);
      await Promise.resolve();
      underWay--;
      if (item === 2) throw error;
      return item;
    },
    2,
  );

  expect(results.map(({ status }) => status === 'fulfilled')).toEqual([true, false, true, true, true, true]);
  expect(counts).toEqual(expected);
});
