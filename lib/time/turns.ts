/** Time of uninterrupted work after which the rest of the process gets its turn, in milliseconds. */
const SLICE = 10;

/**
 * Queues CPU-bound work that many callers request at once, such as when an outage ends. The pieces run one after the other, and the event
 * loop is never busy for longer than a slice and the piece that ends it.
 */
export class Turns {
  #latest: Promise<unknown> = Promise.resolve();
  #spent = 0;

  /** @returns the result of `work`; rejects with its error */
  take<T>(work: () => T): Promise<T> {
    const result = this.#latest.then(async () => {
      if (this.#spent >= SLICE) {
        await new Promise((resolve) => setImmediate(resolve));
        this.#spent = 0;
      }
      const begunAt = performance.now();
      try {
        return work();
      } finally {
        this.#spent += performance.now() - begunAt;
      }
    });
    this.#latest = result.catch(() => {});
    return result;
  }
}
