import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { within } from '../../../lib/time/deadline.js';
import { onAbort, sleep } from '../../../lib/time/sleep.js';

it('many wait for a signal with one listener, and are called but for those who have ended that', () => {
  const controller = new AbortController();
  const { signal } = controller;
  const called: number[] = [];
  const ends = Array.from({ length: 12 }, (_, i) => onAbort(signal, () => called.push(i)));
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  for (const end of ends.slice(2)) end();
  controller.abort();
  expect(called).toEqual([0, 1]);
});

it.each([
  ['sleeps', (clock: ManualClock, signal: AbortSignal) => sleep(clock, 1000, signal)],
  [
    'waits within a time',
    (clock: ManualClock, signal: AbortSignal) => within(clock, 1000, new Promise(() => {}), { signal }),
  ],
])('whoever %s until a signal shares the listener with others, and leaves nothing behind', async (_, wait) => {
  const clock = new ManualClock();
  const controller = new AbortController();
  const some = (): Promise<unknown> =>
    Promise.allSettled(Array.from({ length: 12 }, () => wait(clock, controller.signal)));
  await Promise.all([some(), clock.advance(1000)]);
  const others = some();
  expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1);
  controller.abort();
  await others;
});
