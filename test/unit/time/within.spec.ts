import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../lib/time/manual-clock.js';
import { TimeUp, within } from '../../../lib/time/within.js';

describe('within', () => {
  it('returns the result of the promise, and leaves no timer', async () => {
    const clock = new ManualClock();

    expect(await within(clock, 100, Promise.resolve('done'))).toBe('done');
    expect(clock.nextTimerAt).toBeUndefined();
  });

  it('rejects with what the promise rejects with, and leaves no timer', async () => {
    const clock = new ManualClock();

    await expect(within(clock, 100, Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(clock.nextTimerAt).toBeUndefined();
  });

  it('gives up when time is up', async () => {
    const clock = new ManualClock();
    const outcome = within(clock, 100, new Promise(() => {})).catch((error: unknown) => error);
    await clock.advance(99);
    expect(clock.nextTimerAt).toBeDefined();
    await clock.advance(1);

    expect(await outcome).toBeInstanceOf(TimeUp);
    expect(await outcome).toMatchObject({ message: 'No answer within 100 ms' });
  });

  it('gives up at once when its signal is aborted', async () => {
    const clock = new ManualClock();
    const stop = new AbortController();
    const outcome = within(clock, 100, new Promise(() => {}), stop.signal).catch((error: unknown) => error);
    stop.abort();

    expect(await outcome).toBeInstanceOf(TimeUp);
    expect(clock.nextTimerAt).toBeUndefined();
  });
});
