import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { DueTimer } from '../../../lib/time/due-timer.js';

const START = 1_000_000;

/** A timer on a broker whose clock is `offset` ahead of the local one, and when it fired (broker's clock). */
class Bed {
  readonly clock = new ManualClock(START);
  readonly fired: number[] = [];
  /** Those that want to know when the broker's clock steps. */
  readonly listeners = new Set<() => void>();
  offset = 0;
  readonly timer = new DueTimer(
    this.clock,
    {
      now: () => this.now,
      onStep: (listener) => {
        this.listeners.add(listener);
        return () => this.listeners.delete(listener);
      },
    },
    () => this.fired.push(this.now),
  );

  get now(): number {
    return this.clock.now() + this.offset;
  }

  /** Sets the broker's clock. */
  step(milliseconds: number): void {
    this.offset += milliseconds;
    for (const listener of this.listeners) listener();
  }
}

describe('DueTimer', () => {
  it('fires once, when the time has come', async () => {
    const { clock, timer, fired } = new Bed();
    timer.arm(START + 100);

    await clock.advance(99);
    expect(fired).toEqual([]);
    await clock.advance(1000);
    expect(fired).toEqual([START + 100]);
  });

  it('fires at once for a time that is now, or has passed', () => {
    const { timer, fired } = new Bed();
    timer.arm(START);
    timer.arm(START - 5000);

    expect(fired).toEqual([START, START]);
  });

  it('never fires early, though timers count whole milliseconds', async () => {
    const bed = new Bed();
    bed.offset = 0.3;
    bed.timer.arm(START + 10);

    await bed.clock.advance(100);

    expect(bed.fired).toHaveLength(1);
    expect(bed.fired[0]).toBeGreaterThanOrEqual(START + 10);
    expect(bed.fired[0]).toBeLessThan(START + 11);
  });

  it('takes the sooner of two times', async () => {
    const { clock, timer, fired } = new Bed();
    timer.arm(START + 100);
    timer.arm(START + 50);
    timer.arm(START + 70);

    await clock.advance(1000);

    expect(fired).toEqual([START + 50]);
    expect(clock.nextTimerAt).toBeUndefined();
  });

  it('can be armed again after it has fired, even by its callback', async () => {
    const clock = new ManualClock(START);
    const fired: number[] = [];
    const timer = new DueTimer(clock, { now: () => clock.now(), onStep: () => () => {} }, () => {
      fired.push(clock.now());
      if (fired.length < 3) timer.arm(clock.now() + 10);
    });
    timer.arm(START + 10);
    await clock.advance(100);
    expect(fired).toEqual([START + 10, START + 20, START + 30]);

    timer.arm(START + 200);
    await clock.advance(100);
    expect(fired).toHaveLength(4);
  });

  it('does not fire once it is disarmed, and can be armed for a later time then', async () => {
    const { clock, timer, fired } = new Bed();
    timer.arm(START + 50);
    timer.disarm();
    timer.disarm();
    timer.arm(START + 80);
    await clock.advance(60);
    expect(fired).toEqual([]);

    await clock.advance(20);
    expect(fired).toEqual([START + 80]);
  });

  it('waits on where the clock of the broker turns out to be behind', async () => {
    const bed = new Bed();
    bed.timer.arm(START + 100);
    bed.offset = -30;
    await bed.clock.advance(100);
    expect(bed.fired).toEqual([]);

    await bed.clock.advance(30);
    expect(bed.fired).toEqual([START + 100]);
  });

  it('fires at once if the clock of the broker was set forwards, past its time', () => {
    const bed = new Bed();
    bed.timer.arm(START + 7_200_000);

    bed.step(7_199_999);
    expect(bed.fired).toEqual([]);
    bed.step(1);
    expect(bed.fired).toEqual([START + 7_200_000]);
  });

  it('waits for less if the clock of the broker was set forwards, and for more if it was set back', async () => {
    const bed = new Bed();
    bed.timer.arm(START + 1000);
    bed.step(700);
    await bed.clock.advance(299);
    bed.step(-100);
    await bed.clock.advance(100);
    expect(bed.fired).toEqual([]);

    await bed.clock.advance(1);
    expect(bed.fired).toEqual([START + 1000]);
  });

  it('listens to the clock of the broker only while it is armed', async () => {
    const { timer, listeners, clock } = new Bed();
    timer.arm(START + 100);
    timer.arm(START + 50);
    expect(listeners.size).toBe(1);
    await clock.advance(50);
    expect(listeners.size).toBe(0);

    timer.arm(START + 200);
    timer.disarm();
    expect(listeners.size).toBe(0);
  });

  it('goes by the clock of the broker', async () => {
    const bed = new Bed();
    bed.offset = 5000;
    bed.timer.arm(START + 5100);

    await bed.clock.advance(100);

    expect(bed.fired).toEqual([START + 5100]);
  });

  it('waits for 40 days, longer than setTimeout can', async () => {
    const { clock, timer, fired } = new Bed();
    const days = 40 * 86_400_000;
    timer.arm(START + days);

    await clock.advance(days - 1);
    expect(fired).toEqual([]);
    await clock.advance(1);
    expect(fired).toEqual([START + days]);
  });
});
