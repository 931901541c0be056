/** Resolves when the count reaches zero. */
export class Countdown {
  readonly done: Promise<void>;
  #remaining: number;
  #resolve: () => void = () => {};

  constructor(count: number) {
    this.#remaining = count;
    this.done = new Promise((resolve) => (this.#resolve = resolve));
  }

  count(): void {
    if (--this.#remaining === 0) this.#resolve();
  }
}
