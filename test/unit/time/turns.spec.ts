import { expect, it } from 'vitest';
import { Turns } from '../../../lib/time/turns.js';

function busy(milliseconds: number): void {
  for (const end = performance.now() + milliseconds; performance.now() < end;);
}

it('gives way between pieces of work that many ask for at once, one after the other', async () => {
  const turns = new Turns();
  const order: string[] = [];
  const timer = setInterval(() => order.push('timer'), 1);
  const works = Array.from({ length: 6 }, async (_, i) =>
    turns.take(() => {
      busy(11);
      order.push(`work ${i}`);
      return i;
    }),
  );
  expect(await Promise.all(works)).toEqual([0, 1, 2, 3, 4, 5]);
  clearInterval(timer);

  expect(order.filter((one) => one !== 'timer')).toEqual([0, 1, 2, 3, 4, 5].map((i) => `work ${i}`));
  expect(order.slice(0, order.indexOf('work 3'))).toContain('timer');
});

it('hands on what a piece throws, and goes on with the next', async () => {
  const turns = new Turns();
  const failing = turns.take(() => {
    throw new Error('unreadable');
  });
  const next = turns.take(() => 1);
  await expect(failing).rejects.toThrow('unreadable');
  expect(await next).toBe(1);
});
