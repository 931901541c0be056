import { BrokerUnavailableError } from '../errors/operation.errors.js';
import type { Clock, Timer } from './clock.js';
import { repeatUntilServed } from './repeat.js';

/**
 * Repeats `operation` until the broker serves it, and gives up when time is up, even where a call never returns. Only for
 * operations that may be repeated.
 *
 * @param timeout milliseconds
 * @throws BrokerUnavailableError when time is up, or at once where the failure will not pass
 */
export async function serveWithin<T>(clock: Clock, timeout: number, operation: () => Promise<T>): Promise<T> {
  const overdue = new AbortController();
  let lastFailure: BrokerUnavailableError | undefined;
  let timer: Timer | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = clock.setTimer(timeout, () => {
      overdue.abort();
      const detail = lastFailure?.message ?? 'the connection hangs';
      reject(new BrokerUnavailableError(`No answer from Redis in time: ${detail}`, { cause: lastFailure }));
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
