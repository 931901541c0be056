import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SystemClock } from '../../../lib/time/clock.js';

const LONGEST_TIMEOUT = 2 ** 31 - 1;

describe('SystemClock', () => {
  it('returns the time of day, with fractions, and never goes backwards', () => {
    const clock = new SystemClock();
    const times = Array.from({ length: 1000 }, () => clock.now());

    expect(Math.abs((times[0] as number) - Date.now())).toBeLessThan(60_000);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(times.some((time) => !Number.isInteger(time))).toBe(true);
  });

  it('fires a timer once, not early', async () => {
    const clock = new SystemClock();
    const startedAt = clock.now();

    await new Promise<void>((resolve) => clock.setTimer(5, resolve));

    // Node's timers count whole milliseconds, of a clock that was read at the start of the turn.
    expect(clock.now() - startedAt).toBeGreaterThan(3);
  });

  describe('with faked timers', () => {
    beforeEach(() => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    });
    afterEach(() => {
      vi.useRealTimers();
    });

    it('fires at once if the delay is 0 or less', () => {
      const fired: number[] = [];
      const clock = new SystemClock();
      for (const delay of [0, -5, -(2 ** 40)]) clock.setTimer(delay, () => fired.push(delay));

      vi.advanceTimersByTime(0);

      expect(fired).toEqual([0, -5, -(2 ** 40)]);
    });

    it('fires after the longest delay that setTimeout can hold', () => {
      let fired = 0;
      new SystemClock().setTimer(LONGEST_TIMEOUT, () => fired++);

      vi.advanceTimersByTime(LONGEST_TIMEOUT - 1);
      expect(fired).toBe(0);
      vi.advanceTimersByTime(1);
      expect(fired).toBe(1);
    });

    for (const [what, delay] of [
      ['a millisecond more than setTimeout can hold', LONGEST_TIMEOUT + 1],
      ['40 days', 40 * 86_400_000],
      ['10 years', 10 * 365.25 * 86_400_000],
    ] as const) {
      it(`fires after ${what}, and not before`, () => {
        let fired = 0;
        new SystemClock().setTimer(delay, () => fired++);

        vi.advanceTimersByTime(delay - 1);
        expect(fired).toBe(0);
        vi.advanceTimersByTime(1);
        expect(fired).toBe(1);
        vi.advanceTimersByTime(delay);
        expect(fired).toBe(1);
        expect(vi.getTimerCount()).toBe(0);
      });
    }

    it('never sets a longer timeout than setTimeout can hold', () => {
      const delays: number[] = [];
      const setTimeout = vi.spyOn(globalThis, 'setTimeout');
      new SystemClock().setTimer(2 ** 33, () => {});
      vi.advanceTimersByTime(2 ** 33);
      for (const [, delay] of setTimeout.mock.calls) delays.push(delay ?? 0);
      // Before the real timers come back, as what it restores is a fake one.
      setTimeout.mockRestore();

      expect(delays).toHaveLength(5);
      expect(Math.max(...delays)).toBe(LONGEST_TIMEOUT);
    });

    it('lets the process end in spite of a timer, if it is told to, at whatever point of a long delay', () => {
      const set = vi.spyOn(globalThis, 'setTimeout');
      const clock = new SystemClock();
      const held = (): boolean[] => set.mock.results.map(({ value }) => (value as NodeJS.Timeout).hasRef());
      const timer = clock.setTimer(2 ** 33, () => {});
      expect(held()).toEqual([true]);
      timer.unref();
      expect(held()).toEqual([false]);
      vi.advanceTimersByTime(2 ** 32);
      expect(held()).toEqual([false, false, false]);
      timer.cancel();
      set.mockRestore();
    });

    it('does not fire a cancelled timer, at whatever point of a long delay', () => {
      let fired = 0;
      const clock = new SystemClock();
      const short = clock.setTimer(10, () => fired++);
      const long = clock.setTimer(2 ** 33, () => fired++);
      const untouched = clock.setTimer(2 ** 33, () => fired++);
      short.cancel();
      short.cancel();
      untouched.cancel();
      vi.advanceTimersByTime(2 ** 32);
      long.cancel();
      expect(vi.getTimerCount()).toBe(0);
      vi.advanceTimersByTime(2 ** 33);

      expect(fired).toBe(0);
    });
  });
});
