import { BrokerUnavailableError } from '../../errors/operation.errors.js';
import type { Clock } from '../../time/clock.js';
import { within } from '../../time/deadline.js';
import { sleep } from '../../time/sleep.js';

const FIRST_PAUSE = 25;
const LONGEST_PAUSE = 250;

export interface RepeatOptions {
  readonly clock: Clock;
  /** Ends the waiting. */
  readonly signal: AbortSignal;
  /** Whether to sit out a failure. @defaultValue those that may pass */
  readonly worthRepeating?: (error: BrokerUnavailableError) => boolean;
  /** Called with each failure that is sat out; `failures` counts them, this one included. */
  readonly onFailure?: (error: BrokerUnavailableError, failures: number) => void;
}

/**
 * Calls `operation` until the broker serves it, four times a second at most. Only for operations that can be repeated.
 *
 * @throws the latest error of the operation, once the signal is aborted or if the failure will not pass
 */
export async function repeatUntilServed<T>(operation: () => Promise<T>, options: RepeatOptions): Promise<T> {
  const { clock, signal, worthRepeating = (error) => error.transient, onFailure } = options;
  let pause = FIRST_PAUSE;
  for (let failures = 1; ; failures++) {
    try {
      return await operation();
    } catch (error) {
      if (signal.aborted || !(error instanceof BrokerUnavailableError) || !worthRepeating(error)) throw error;
      onFailure?.(error, failures);
      await sleep(clock, pause, signal);
      pause = Math.min(pause * 2, LONGEST_PAUSE);
      if (signal.aborted) throw error;
    }
  }
}

/**
 * Repeats `operation` until the broker serves it, and gives up when time is up, even if a call never returns. Only for
 * operations that can be repeated.
 *
 * @param timeout milliseconds
 * @throws BrokerUnavailableError when time is up, or at once if the failure will not pass
 */
export async function serveWithin<T>(clock: Clock, timeout: number, operation: () => Promise<T>): Promise<T> {
  const overdue = new AbortController();
  let lastFailure: BrokerUnavailableError | undefined;
  const serving = repeatUntilServed(operation, {
    clock,
    signal: overdue.signal,
    onFailure: (error) => (lastFailure = error),
  });
  return within(clock, timeout, serving, {
    error: () => {
      overdue.abort();
      const detail = lastFailure?.message ?? 'the connection hangs';
      return new BrokerUnavailableError(`No answer from Redis in time: ${detail}`, { cause: lastFailure });
    },
  });
}
