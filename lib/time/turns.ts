/** After so much work in a row everything else of the process has its turn, in milliseconds. */
const SLICE = 10;

/**
 * Work of the processor that many ask for at once, such as when an outage ends. One piece comes after the other, and the event loop is never
 * kept busy for longer than a slice and the piece that ends it.
 */
export class Turns {
  #latest: Promise<unknown> = Promise.resolve();
  #spent = 0;

  /** @returns what `work` returns, or rejects with what it throws */
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
