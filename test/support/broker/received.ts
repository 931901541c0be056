/** What a listener was told, in order; tests await the next one instead of a time. */
export class Received<T> {
  readonly all: T[] = [];
  #waiting: { count: number; resolve: () => void }[] = [];

  readonly listener = (item: T): void => {
    this.all.push(item);
    this.#waiting = this.#waiting.filter(({ count, resolve }) => {
      if (this.all.length >= count) resolve();
      return this.all.length < count;
    });
  };

  /** Resolves with everything received once there are at least `count`. */
  async atLeast(count: number): Promise<readonly T[]> {
    if (this.all.length < count) await new Promise<void>((resolve) => this.#waiting.push({ count, resolve }));
    return this.all;
  }
}
