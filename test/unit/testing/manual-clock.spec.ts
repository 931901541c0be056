import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../lib/testing/manual-clock.js';

describe('ManualClock', () => {
  it('stands still until it is moved', async () => {
    const clock = new ManualClock(1000);
    expect(clock.now()).toBe(1000);

    await clock.advance(250.5);

    expect(clock.now()).toBe(1250.5);
  });

  it('fires timers in the order of their times, each at its time', async () => {
    const clock = new ManualClock(0);
    const fired: [string, number][] = [];
    for (const [name, delay] of [
      ['late', 30],
      ['early', 10],
      ['middle', 20],
    ] as const) {
      clock.setTimer(delay, () => fired.push([name, clock.now()]));
    }

    await clock.advance(25);
    expect(fired).toEqual([
      ['early', 10],
      ['middle', 20],
    ]);

    await clock.advance(5);
    expect(fired.at(-1)).toEqual(['late', 30]);
  });

  it('fires timers of the same time in the order in which they were set', async () => {
    const clock = new ManualClock();
    const fired: number[] = [];
    for (const i of [1, 2, 3]) clock.setTimer(10, () => fired.push(i));

    await clock.advance(10);

    expect(fired).toEqual([1, 2, 3]);
  });

  it('never fires a timer early', async () => {
    const clock = new ManualClock(0);
    let fired = false;
    clock.setTimer(10, () => (fired = true));

    await clock.advance(9.999);
    expect(fired).toBe(false);

    await clock.advance(0.001);
    expect(fired).toBe(true);
  });

  it('fires once a timer that is due at once, or was due before', async () => {
    const clock = new ManualClock(500);
    const fired: number[] = [];
    clock.setTimer(0, () => fired.push(0));
    clock.setTimer(-100, () => fired.push(-100));

    await clock.advance(0);
    await clock.advance(1000);

    expect(fired).toEqual([0, -100]);
    expect(clock.now()).toBe(1500);
  });

  it('does not fire a cancelled timer, even if another timer of the same time cancels it', async () => {
    const clock = new ManualClock();
    const fired: string[] = [];
    const first = clock.setTimer(10, () => fired.push('first'));
    clock.setTimer(10, () => third.cancel());
    const third = clock.setTimer(10, () => fired.push('third'));
    first.cancel();
    first.cancel();

    await clock.advance(10);
    third.cancel();

    expect(fired).toEqual([]);
  });

  it('fires timers that are set while it moves, if they fall due on the way', async () => {
    const clock = new ManualClock(0);
    const fired: number[] = [];
    const every10 = (): void => {
      fired.push(clock.now());
      clock.setTimer(10, every10);
    };
    clock.setTimer(10, every10);

    await clock.advance(35);

    expect(fired).toEqual([10, 20, 30]);
    expect(clock.nextTimerAt).toBe(40);
  });

  it('lets promises that a timer resolved continue at the time of the timer', async () => {
    const clock = new ManualClock(0);
    const times: number[] = [];
    const sleep = (delay: number): Promise<void> => new Promise((resolve) => clock.setTimer(delay, resolve));
    const work = (async () => {
      for (let i = 0; i < 3; i++) {
        await sleep(10);
        times.push(clock.now());
      }
    })();

    await clock.advance(100);
    await work;

    expect(times).toEqual([10, 20, 30]);
  });

  it('says when the next timer fires', async () => {
    const clock = new ManualClock(100);
    expect(clock.nextTimerAt).toBeUndefined();

    clock.setTimer(50, () => {});
    const sooner = clock.setTimer(20, () => {});
    expect(clock.nextTimerAt).toBe(120);
    sooner.cancel();
    expect(clock.nextTimerAt).toBe(150);
    await clock.advance(50);
    expect(clock.nextTimerAt).toBeUndefined();
  });

  it('reaches a timer that is years away', async () => {
    const clock = new ManualClock(0);
    const tenYears = 10 * 365 * 86_400_000;
    let firedAt = 0;
    clock.setTimer(tenYears, () => (firedAt = clock.now()));

    await clock.advance(tenYears);

    expect(firedAt).toBe(tenYears);
  });

  it('fires one timer after another, up to a limit', () => {
    const clock = new ManualClock(0);
    const fired: number[] = [];
    for (const delay of [20, 10]) clock.setTimer(delay, () => fired.push(clock.now()));

    expect([clock.fireNext(9), clock.now(), fired]).toEqual([false, 0, []]);
    expect([clock.fireNext(10), clock.now(), fired]).toEqual([true, 10, [10]]);
    expect([clock.fireNext(Infinity), clock.now(), fired]).toEqual([true, 20, [10, 20]]);
    expect([clock.fireNext(Infinity), clock.now()]).toEqual([false, 20]);
  });

  it('never moves back', () => {
    const clock = new ManualClock(100);
    clock.moveTo(50);
    expect(clock.now()).toBe(100);
    clock.moveTo(150);
    expect(clock.now()).toBe(150);
  });

  it('reports each time that it moves to, before timers of that time fire', async () => {
    const told: (number | string)[] = [];
    const clock = new ManualClock(0, (now) => told.push(now));
    clock.setTimer(10, () => told.push('first'));
    clock.setTimer(10, () => told.push('second'));

    await clock.advance(30);
    await clock.advance(0);

    expect(told).toEqual([10, 'first', 'second', 30]);
  });
});
