import type { BrokerUnavailableError } from '../errors/broker-unavailable.error.js';
import type { Clock, Timer } from './clock.js';
import { repeatUntilServed } from './repeat.js';

export interface ServeWithinOptions {
  readonly clock: Clock;
  /** Milliseconds. */
  readonly timeout: number;
  /** Makes the error for when time is up; `cause` is the latest failure, if there was one. */
  readonly timeoutError: (cause: BrokerUnavailableError | undefined) => BrokerUnavailableError;
}

/**
 * Repeats `operation` until the broker serves it, and gives up when time is up, even where a call never returns. Only for
 * operations that may be repeated.
 *
 * @throws the timeout error, or at once what will not pass
 */
export async function serveWithin<T>(operation: () => Promise<T>, options: ServeWithinOptions): Promise<T> {
  const { clock, timeout, timeoutError } = options;
  const overdue = new AbortController();
  let lastFailure: BrokerUnavailableError | undefined;
  let timer: Timer | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = clock.setTimer(timeout, () => {
      overdue.abort();
      reject(timeoutError(lastFailure));
    });
  });
  const repeating = repeatUntilServed(operation, {
    clock,
    signal: overdue.signal,
    onFailure: (error) => (lastFailure = error),
  });
  try {
    return await Promise.race([deadline, repeating]);
  } finally {
    timer?.cancel();
  }
}
