import type { Clock, Timer } from './clock.js';
import { onAbort } from './sleep.js';

/** What {@link within} rejects with if time is up. */
export class TimeUp extends Error {
  constructor(timeout: number) {
    super(`No answer within ${timeout} ms`);
  }
}

export interface DeadlineOptions {
  /** Ends the waiting early, as if time were up. */
  readonly signal?: AbortSignal | undefined;
  /** Makes the error when time is up. @defaultValue a {@link TimeUp} */
  readonly error?: () => Error;
}

/**
 * Waits for a promise, but not for longer than `timeout` milliseconds; what the promise stands for goes on by itself.
 *
 * @throws TimeUp, or the error of the options, if time is up; else what the promise rejects with
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
