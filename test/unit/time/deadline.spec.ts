import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { TimeUp, within } from '../../../lib/time/deadline.js';

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
    const outcome = within(clock, 100, new Promise(() => {}), { signal: stop.signal }).catch((error: unknown) => error);
    stop.abort();

    expect(await outcome).toBeInstanceOf(TimeUp);
    expect(clock.nextTimerAt).toBeUndefined();
  });

  it('gives up at once when its signal was aborted before', async () => {
    const clock = new ManualClock();

    await expect(within(clock, 100, new Promise(() => {}), { signal: AbortSignal.abort() })).rejects.toThrow(TimeUp);
    expect(clock.nextTimerAt).toBeUndefined();
  });

  it('rejects with the error that it is given, which is made only when time is up', async () => {
    const clock = new ManualClock();
    let made = 0;
    const error = (): Error => new Error(`error ${++made}`);
    expect(await within(clock, 100, Promise.resolve('done'), { error })).toBe('done');
    expect(made).toBe(0);
    const outcome = within(clock, 100, new Promise(() => {}), { error }).catch((reason: unknown) => reason);
    await clock.advance(100);

    expect(await outcome).toMatchObject({ message: 'error 1' });
  });
});
