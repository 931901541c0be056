import { setTimeout } from 'node:timers/promises';

/** Longest time a test waits for something that should happen at once, in milliseconds. */
export const SOON = 5000;

/** Repeats an assertion until it holds; if it never does, fails with its last error. */
export async function eventually<T>(assertion: () => T | Promise<T>, timeout = SOON): Promise<T> {
  const deadline = performance.now() + timeout;
  for (;;) {
    try {
      return await assertion();
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
    await setTimeout(5);
  }
}

/** Waits for a promise for a limited time. */
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

/** A test opens it and a handler waits for it, or the other way round. */
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
