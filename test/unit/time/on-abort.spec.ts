import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { onAbort } from '../../../lib/time/on-abort.js';

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
