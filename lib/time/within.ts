import type { Clock } from './clock.js';
import { sleep } from './repeat.js';

/** What {@link within} rejects with where time is up. */
export class TimeUp extends Error {
  constructor(timeout: number) {
    super(`No answer within ${timeout} ms`);
  }
}

/**
 * Waits for a promise, but not for ever; it goes on by itself.
 *
 * @param timeout milliseconds
 * @param signal ends the waiting early
 * @throws TimeUp, or what the promise rejects with
 */
export async function within<T>(clock: Clock, timeout: number, promise: Promise<T>, signal?: AbortSignal): Promise<T> {
  const done = new AbortController();
  const end = (): void => done.abort();
  signal?.addEventListener('abort', end, { once: true });
  const timeUp = sleep(clock, timeout, done.signal).then(() => Promise.reject(new TimeUp(timeout)));
  try {
    return await Promise.race([promise, timeUp]);
  } finally {
    done.abort();
    signal?.removeEventListener('abort', end);
    timeUp.catch(() => {});
  }
}
