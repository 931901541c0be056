import { expect, it } from 'vitest';
import { importLines } from '../../../lib/cli/commands/import-bullmq.js';

const counts = (moved: number) => ({ topics: new Map([['orders', moved]]), moved, left: [] });

it.each([
  ['says nothing of others if there are none', 3, []],
  [
    'says how many jobs were gone before their turn',
    1,
    ['meanwhile  2 jobs fell due or were removed before they could be moved'],
  ],
  ['says how many jobs came', 4, ['meanwhile  1 job was added']],
])('%s', (_, moved, said) => {
  const lines = importLines(
    {
      queue: 'orders',
      planned: counts(3),
      moved: counts(moved),
      remaining: { delayed: 0, waiting: 1, active: 2 },
      aborted: false,
    },
    { paint: (_style, text) => text, width: undefined },
  );
  expect(lines).toEqual([
    'counted    3 delayed jobs',
    `moved      ${moved} to orders`,
    'left       0',
    ...said,
    'in BullMQ  0 delayed, 1 due, 2 active',
  ]);
});
