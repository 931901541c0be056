import { expect, it } from 'vitest';
import { StarvationWatch } from '../../../../lib/consumer/admission/admission.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';

function watched(): { clock: ManualClock; watch: StarvationWatch; told: () => number } {
  const clock = new ManualClock();
  let told = 0;
  const watch = new StarvationWatch(clock, () => told++);
  return { clock, watch, told: () => told };
}

it('tells once that what is permitted always comes too late', async () => {
  const { clock, watch, told } = watched();
  const begin = clock.now();
  for (let second = 0; second < 5; second++) {
    watch.tooLate();
    expect(watch.since).toBeUndefined();
    await clock.advance(1000);
  }
  watch.tooLate();
  watch.tooLate();
  expect([watch.since, told()]).toEqual([begin, 1]);
});

it('counts anew once a handler is called, and forgets what is long over', async () => {
  const { clock, watch, told } = watched();
  const starve = async (): Promise<void> => {
    watch.tooLate();
    await clock.advance(5000);
    watch.tooLate();
  };
  await starve();
  watch.inTime();
  expect(watch.since).toBeUndefined();
  await starve();
  expect(told()).toBe(2);
  await clock.advance(30_000);
  expect(watch.since).toBeUndefined();
  watch.tooLate();
  expect([watch.since, told()]).toEqual([undefined, 2]);
});
