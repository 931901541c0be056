import type { Clock } from './clock.js';

/** Resolves after `delay` milliseconds, or as soon as the signal is aborted. */
export function sleep(clock: Clock, delay: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const wake = (): void => {
      timer.cancel();
      signal?.removeEventListener('abort', wake);
      resolve();
    };
    const timer = clock.setTimer(delay, wake);
    signal?.addEventListener('abort', wake);
  });
}
