import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../lib/time/manual-clock.js';
import { serveWithin } from '../../../lib/time/serve-within.js';
import { BrokerUnavailableError } from '../../../lib/errors/operation.errors.js';

interface Seen {
  value?: unknown;
  error?: unknown;
}

function watch(promise: Promise<unknown>): Seen {
  const seen: Seen = {};
  promise.then(
    (value) => (seen.value = value),
    (error: unknown) => (seen.error = error),
  );
  return seen;
}

describe('serveWithin', () => {
  it('returns the result of the operation, and leaves no timer', async () => {
    const clock = new ManualClock();

    expect(await serveWithin(clock, 1000, async () => 'served')).toBe('served');
    expect(clock.nextTimerAt).toBeUndefined();
  });

  it('repeats until it is served', async () => {
    const clock = new ManualClock();
    let calls = 0;
    const result = watch(
      serveWithin(clock, 1000, async () => {
        if (++calls < 4) throw new BrokerUnavailableError('gone');
        return calls;
      }),
    );

    await clock.advance(999);

    expect(result).toEqual({ value: 4 });
    expect(clock.nextTimerAt).toBeUndefined();
  });

  it('gives up when time is up, with the latest failure as the cause, and stops trying', async () => {
    const clock = new ManualClock();
    let calls = 0;
    const result = watch(
      serveWithin(clock, 1000, () => Promise.reject(new BrokerUnavailableError(`failure ${++calls}`))),
    );

    await clock.advance(999);
    expect(result).toEqual({});
    await clock.advance(1);

    expect(result.error).toBeInstanceOf(BrokerUnavailableError);
    const { message, cause } = result.error as BrokerUnavailableError;
    expect(message).toContain(`failure ${calls}`);
    expect(cause).toBeInstanceOf(BrokerUnavailableError);
    const callsThen = calls;
    await clock.advance(10_000);
    expect(calls).toBe(callsThen);
    expect(clock.nextTimerAt).toBeUndefined();
  });

  it('gives up when time is up, even if a call never returns', async () => {
    const clock = new ManualClock();
    const result = watch(serveWithin(clock, 1000, () => new Promise(() => {})));

    await clock.advance(1000);

    expect(result.error).toBeInstanceOf(BrokerUnavailableError);
    expect((result.error as Error).cause).toBeUndefined();
  });

  it('fails at once with a permanent failure', async () => {
    const clock = new ManualClock();
    for (const error of [new BrokerUnavailableError('denied', { transient: false }), new TypeError('a bug')]) {
      await expect(serveWithin(clock, 1000, () => Promise.reject(error))).rejects.toBe(error);
      expect(clock.nextTimerAt).toBeUndefined();
    }
  });

  it('is not disturbed by an answer, or a failure, that comes too late', async () => {
    const clock = new ManualClock();
    const pending: { resolve: (value: string) => void; reject: (error: Error) => void }[] = [];
    const results = [1, 2].map(() =>
      watch(serveWithin(clock, 1000, () => new Promise((resolve, reject) => pending.push({ resolve, reject })))),
    );
    await clock.advance(1000);
    pending[0]?.resolve('late');
    pending[1]?.reject(new Error('late'));
    await clock.advance(1000);

    for (const { error } of results) expect(error).toBeInstanceOf(BrokerUnavailableError);
  });
});
