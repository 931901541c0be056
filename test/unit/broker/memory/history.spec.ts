import { expect, it } from 'vitest';
import { addedToHistory } from '../../../../lib/broker/memory/history.js';

const WORK = { topic: 'jobs', delivered: 1, acked: 0, retried: 0, dead: 0, maxLateness: 0, lateness: [] };

it('a span of the history is kept for so long after its end', () => {
  const settings = { span: 10, keep: 600_000 };
  const first = addedToHistory([], WORK, undefined, 0, settings);
  const minutesAt = (reported: number): number[] =>
    addedToHistory(first, WORK, undefined, reported, settings).map(({ minute }) => minute);
  expect([minutesAt(19), minutesAt(20)]).toEqual([[0, 10], [20]]);
});
