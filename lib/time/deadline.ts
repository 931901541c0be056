import type { Clock, Timer } from './clock.js';
import { onAbort } from './sleep.js';

/** Error with which {@link within} rejects if time is up. */
export class TimeUp extends Error {
  constructor(timeout: number) {
    super(`No answer within ${timeout} ms`);
  }
}

export interface DeadlineOptions {
  /** Ends the wait early, as if time were up. */
  readonly signal?: AbortSignal | undefined;
  /** Returns the error when time is up. @defaultValue a {@link TimeUp} */
  readonly error?: () => Error;
}

/**
 * Waits for a promise for at most `timeout` milliseconds; the work behind the promise goes on by itself.
 *
 * @throws TimeUp, or the error of the options, if time is up; else the promise's own error
 */
export async function within<T>(
  clock: Clock,
  timeout: number,
  promise: Promise<T>,
  { signal, error = () => new TimeUp(timeout) }: DeadlineOptions = {},
): Promise<T> {
  let timer: Timer | undefined;
  let ignore: (() => void) | undefined;
  const timeUp = new Promise<never>((_, reject) => {
    const end = (): void => reject(error());
    timer = clock.setTimer(timeout, end);
    ignore = signal && onAbort(signal, end);
    if (signal?.aborted) end();
  });
  try {
    return await Promise.race([promise, timeUp]);
  } finally {
    timer?.cancel();
    ignore?.();
  }
}
