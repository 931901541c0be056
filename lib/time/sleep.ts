import type { Clock } from './clock.js';
import { onAbort } from './on-abort.js';

/** Resolves after `delay` milliseconds, or as soon as the signal is aborted. */
export function sleep(clock: Clock, delay: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const wake = (): void => {
      timer.cancel();
      ignore?.();
      resolve();
    };
    const timer = clock.setTimer(delay, wake);
    const ignore = signal && onAbort(signal, wake);
  });
}
