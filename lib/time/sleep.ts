import type { Clock } from './clock.js';

/** Listeners by their signal: many calls can share a signal, and Node warns of a leak at eleven listeners. */
const WAITING = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls a listener when a signal aborts; a signal that has aborted already calls none.
 *
 * @returns a function that ends it
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  const waiting = WAITING.get(signal) ?? listenTo(signal);
  waiting.add(listener);
  return () => waiting.delete(listener);
}

function listenTo(signal: AbortSignal): Set<() => void> {
  const waiting = new Set<() => void>();
  WAITING.set(signal, waiting);
  signal.addEventListener('abort', () => waiting.forEach((listener) => listener()), { once: true });
  return waiting;
}

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
