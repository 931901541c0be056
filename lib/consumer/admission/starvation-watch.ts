import type { Clock } from '../../time/clock.js';

/** After so long without a call, what always comes too late is starvation, in milliseconds: a pause of the process passes. */
const PATIENCE = 5000;

/** So long after the last one that was too late, there is nothing any more that starves; in milliseconds. */
const MEMORY = 30_000;

/** Notices that what the limits of a topic permit is over, again and again, before its handlers can be called. */
export class StarvationWatch {
  readonly #clock: Clock;
  readonly #onStarving: () => void;
  #firstAt: number | undefined;
  #lastAt = -Infinity;
  #hasTold = false;

  /** @param onStarving told once, until handlers are called again */
  constructor(clock: Clock, onStarving: () => void) {
    this.#clock = clock;
    this.#onStarving = onStarving;
  }

  /** Since when no handler was called, epoch milliseconds on the local clock; `undefined` if nothing starves. */
  get since(): number | undefined {
    return this.#hasTold && this.#clock.now() - this.#lastAt < MEMORY ? this.#firstAt : undefined;
  }

  /** What was permitted came too late, and goes back. */
  tooLate(): void {
    const now = this.#clock.now();
    if (now - this.#lastAt >= MEMORY) this.inTime();
    this.#lastAt = now;
    this.#firstAt ??= now;
    if (this.#hasTold || now - this.#firstAt < PATIENCE) return;
    this.#hasTold = true;
    this.#onStarving();
  }

  /** A handler is called. */
  inTime(): void {
    this.#firstAt = undefined;
    this.#hasTold = false;
  }
}
