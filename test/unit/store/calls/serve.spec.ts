import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { repeatUntilServed, serveWithin } from '../../../../lib/store/calls/serve.js';
import { sleep } from '../../../../lib/time/sleep.js';
import { BrokerUnavailableError } from '../../../../lib/errors/operation.errors.js';
import { ConfigurationError } from '../../../../lib/errors/options.errors.js';

/** The outcome of a promise that is not awaited. */
function watch<T>(promise: Promise<T>): { value?: T; error?: unknown } {
  const seen: { value?: T; error?: unknown } = {};
  promise.then(
    (value) => (seen.value = value),
    (error: unknown) => (seen.error = error),
  );
  return seen;
}

function unavailable(text = 'gone'): BrokerUnavailableError {
  return new BrokerUnavailableError(text);
}

describe('repeatUntilServed', () => {
  it('calls once if it is served at once, and sets no timer', async () => {
    const clock = new ManualClock();
    let calls = 0;

    expect(await repeatUntilServed(async () => ++calls, { clock, signal: new AbortController().signal })).toBe(1);
    expect(clock.nextTimerAt).toBeUndefined();
  });

  it('repeats after pauses that double up to a quarter of a second', async () => {
    const clock = new ManualClock(0);
    const calledAt: number[] = [];
    const result = watch(
      repeatUntilServed(
        async () => {
          calledAt.push(clock.now());
          if (calledAt.length < 8) throw unavailable();
          return 'served';
        },
        { clock, signal: new AbortController().signal },
      ),
    );

    await clock.advance(5000);

    expect(calledAt).toEqual([0, 25, 75, 175, 375, 625, 875, 1125]);
    expect(result).toEqual({ value: 'served' });
    expect(clock.nextTimerAt).toBeUndefined();
  });

  it('continues for as long as it takes', async () => {
    const clock = new ManualClock(0);
    let served = false;
    const result = watch(
      repeatUntilServed(
        async () => {
          if (!served) throw unavailable();
          return 'served';
        },
        { clock, signal: new AbortController().signal },
      ),
    );

    await clock.advance(30_000);
    expect(result).toEqual({});
    served = true;
    await clock.advance(250);
    expect(result).toEqual({ value: 'served' });
  });

  it('reports each failure that it waits out', async () => {
    const clock = new ManualClock();
    const told: string[] = [];
    let calls = 0;
    const result = watch(
      repeatUntilServed(
        async () => {
          if (++calls < 3) throw unavailable(`failure ${calls}`);
        },
        { clock, signal: new AbortController().signal, onFailure: ({ message }) => told.push(message) },
      ),
    );

    await clock.advance(1000);

    expect(told).toEqual(['failure 1', 'failure 2']);
    expect(result).toEqual({ value: undefined });
  });

  it('repeats neither permanent failures nor other errors', async () => {
    const clock = new ManualClock();
    const options = { clock, signal: new AbortController().signal };
    const errors = [
      new BrokerUnavailableError('denied', { transient: false }),
      new ConfigurationError('wrong'),
      new TypeError('a bug'),
    ];

    for (const error of errors) {
      let calls = 0;
      const failing = repeatUntilServed(async () => {
        calls++;
        throw error;
      }, options);
      await expect(failing).rejects.toBe(error);
      expect(calls).toBe(1);
    }
  });

  it('repeats failures that its caller allows', async () => {
    const clock = new ManualClock();
    let calls = 0;
    const result = watch(
      repeatUntilServed(
        async () => {
          if (++calls < 3) throw new BrokerUnavailableError('OOM', { transient: false });
          return calls;
        },
        { clock, signal: new AbortController().signal, worthRepeating: () => true },
      ),
    );

    await clock.advance(1000);

    expect(result).toEqual({ value: 3 });
  });

  it('ends the waiting when it is aborted, with the latest failure', async () => {
    const clock = new ManualClock();
    const abort = new AbortController();
    const failure = unavailable();
    let calls = 0;
    const result = watch(
      repeatUntilServed(
        async () => {
          calls++;
          throw failure;
        },
        { clock, signal: abort.signal },
      ),
    );
    await clock.advance(30);
    expect(calls).toBe(2);

    abort.abort();
    await clock.advance(0);

    expect(result).toEqual({ error: failure });
    expect(calls).toBe(2);
    expect(clock.nextTimerAt).toBeUndefined();
  });

  it('tries once if it was aborted before', async () => {
    const abort = new AbortController();
    abort.abort();
    let calls = 0;
    const options = { clock: new ManualClock(), signal: abort.signal };

    expect(await repeatUntilServed(async () => ++calls, options)).toBe(1);
    await expect(repeatUntilServed(() => Promise.reject(unavailable()), options)).rejects.toThrow('gone');
  });
});

describe('serveWithin', () => {
  it('answers what the operation does, and leaves no timer', async () => {
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

  it('gives up when time is up, with the latest failure as the cause, and tries no more', async () => {
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

  it('gives up when time is up, even where a call never returns', async () => {
    const clock = new ManualClock();
    const result = watch(serveWithin(clock, 1000, () => new Promise(() => {})));

    await clock.advance(1000);

    expect(result.error).toBeInstanceOf(BrokerUnavailableError);
    expect((result.error as Error).cause).toBeUndefined();
  });

  it('fails at once with what will not pass', async () => {
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

describe('sleep', () => {
  it('resolves after its delay', async () => {
    const clock = new ManualClock();
    const result = watch(sleep(clock, 100, new AbortController().signal).then(() => 'awake'));

    await clock.advance(99);
    expect(result).toEqual({});
    await clock.advance(1);
    expect(result).toEqual({ value: 'awake' });
  });

  it('resolves as soon as it is aborted, and leaves no timer', async () => {
    const clock = new ManualClock();
    const abort = new AbortController();
    const result = watch(sleep(clock, 100, abort.signal).then(() => 'awake'));

    abort.abort();
    await clock.advance(0);

    expect(result).toEqual({ value: 'awake' });
    expect(clock.nextTimerAt).toBeUndefined();
  });

  it('does not sleep if it was aborted before', async () => {
    const clock = new ManualClock();

    await sleep(clock, 100, AbortSignal.abort());

    expect(clock.nextTimerAt).toBeUndefined();
  });
});
