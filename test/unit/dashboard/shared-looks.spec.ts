import { expect, it } from 'vitest';
import { SharedLooks } from '../../../lib/dashboard/shared-looks.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';

/** Looks that take as long as they are told to, in milliseconds. */
function looksThatTake(duration: number) {
  const clock = new ManualClock();
  const looks = new SharedLooks(clock);
  let taken = 0;
  const look = async () => {
    await clock.advance(duration);
    return ++taken;
  };
  const take = async (name = 'overview', mostOf?: (answer: number) => number) =>
    (await looks.take(name, look, mostOf)).answer;
  return { clock, looks, take };
}

it.each([5, 300, 850])('two looks that take %d ms each take less than a hundredth of the time', async (duration) => {
  const { clock, take } = looksThatTake(duration);
  const startedAt = clock.now();
  let count = 0;
  while (count < 10) {
    count = Math.max(await take('overview'), await take('agenda'));
    clock.moveTo(clock.now() + 100);
  }
  expect((duration * (count - 2)) / (clock.now() - startedAt)).toBeLessThan(0.01);
});

it('are kept for two seconds at least, and for three minutes at most', async () => {
  const [short, long] = [looksThatTake(1), looksThatTake(10_000)];
  for (const [{ clock, take }, kept] of [[short, 2000] as const, [long, 180_000] as const]) {
    expect(await take()).toBe(1);
    clock.moveTo(clock.now() + kept - 1);
    expect(await take()).toBe(1);
    clock.moveTo(clock.now() + 1);
    expect(await take()).toBe(2);
  }
});

it.each([
  { most: 5000, kept: 5000 },
  { most: 1, kept: 2000 },
  { most: 1_000_000, kept: 60_000 },
])(
  'that took long are kept no longer than their cost asks for, which is at most $most ms: $kept ms',
  async ({ most, kept }) => {
    const { clock, take } = looksThatTake(300);
    const answers: number[] = [];
    const again = async () =>
      take('overview', (answer) => {
        answers.push(answer);
        return most;
      });
    await again();
    clock.moveTo(clock.now() + kept - 1);
    expect(await again()).toBe(1);
    clock.moveTo(clock.now() + 1);
    expect(await again()).toBe(2);
    expect(answers).toEqual([1, 2]);
  },
);

it('are one for all who ask at the same time, and one for each name', async () => {
  const { take } = looksThatTake(10);
  expect(await Promise.all([take(), take(), take('topic jobs')])).toEqual([1, 1, 2]);
});

it('are taken anew after something was changed, and after one that failed', async () => {
  const { looks, take } = looksThatTake(10);
  expect(await take()).toBe(1);
  looks.forget();
  expect(await take()).toBe(2);
  const failing = async () => looks.take('failing', async () => Promise.reject(new Error('Redis is away')));
  await expect(failing()).rejects.toThrow('Redis is away');
  expect(await take('failing')).toBe(3);
});

it('an answer is as old as the oldest of the looks that it is made of, also of those that these are made of', async () => {
  const { clock, looks } = looksThatTake(0);
  const begun = clock.now();
  await looks.take('doctor', async () => clock.advance(300));
  clock.moveTo(begun + 2000);
  const overview = async () => looks.take('overview', async (inner) => inner.take('doctor', async () => {}));
  await overview();
  for (const [name, takenAt] of [
    ['overview', begun],
    ['nothing', clock.now()],
  ] as const) {
    expect(await looks.answer(async (inner) => inner.take(name, async () => {}))).toMatchObject({ takenAt });
  }
});
