import { setTimeout } from 'node:timers/promises';

/**
 * How long a test waits for something that should happen at once, in milliseconds. It only says when a test gives up: a busy
 * host takes longer, so no test may take it for a bound of what the library does.
 */
export const SOON = 60_000;

/** Repeats an assertion until it holds. If it never does, this fails with what the assertion said last. */
export async function eventually<T>(assertion: () => T | Promise<T>, timeout = SOON): Promise<T> {
  const end = performance.now() + timeout;
  for (;;) {
    try {
      return await assertion();
    } catch (error) {
      if (performance.now() > end) throw error;
    }
    await setTimeout(5);
  }
}

/**
 * Repeats a question until the answer is something other than `undefined` or `false`, and resolves with it. For conditions,
 * and outside Vitest. An error of the question is not repeated.
 *
 * @param what names what is awaited, for the error if it does not come
 */
export async function until<T>(
  what: string,
  condition: () => T | Promise<T>,
  timeout = SOON,
): Promise<Exclude<T, false | undefined>> {
  const end = performance.now() + timeout;
  for (;;) {
    const value = await condition();
    if (value !== undefined && value !== false) return value as Exclude<T, false | undefined>;
    if (performance.now() > end) throw new Error(`Waited ${timeout} ms in vain for: ${what}`);
    await setTimeout(5);
  }
}

/** Waits for a promise, but not for ever. */
export async function within<T>(what: string, promise: Promise<T>, timeout = SOON): Promise<T> {
  const done = new AbortController();
  const deadline = setTimeout(timeout, undefined, { signal: done.signal }).then(() => {
    throw new Error(`${what}: nothing within ${timeout} ms`);
  });
  try {
    return await Promise.race([promise, deadline]);
  } finally {
    done.abort();
    deadline.catch(() => {});
  }
}

/** Something that a test opens and a handler waits for, or the other way round. */
export class Gate {
  readonly opened: Promise<void>;
  #resolve: () => void = () => {};

  constructor() {
    this.opened = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  open(): void {
    this.#resolve();
  }
}

/** Resolves with the reason once the signal aborts. */
export async function abortOf(signal: AbortSignal): Promise<unknown> {
  if (!signal.aborted) {
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  }
  return signal.reason;
}
