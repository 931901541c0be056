/** For how long a process keeps permits to be in flight that nothing uses, if nobody else wants them; in milliseconds. */
const LINGER = 1000;

/**
 * The permits to be in flight that a process has, from when it gets the first ones. They last as long as it renews them, all together. Once they
 * have ended they stay so, whatever is answered later: others may have them by then, and what is permitted after that is of another term.
 */
export class FlightTerm {
  /** Epoch milliseconds on the local clock. */
  endsAt = Infinity;
  /** How many permits there are, and how many of them are in use. */
  held = 0;
  used = 0;
  /** How many of them may be kept while other processes have too few. */
  keep = Infinity;
  /** Since when some are not used; epoch milliseconds on the local clock. */
  #idleSince: number | undefined;

  /** How many of them nothing uses. */
  get idle(): number {
    return Math.max(0, this.held - this.used);
  }

  /** How many of those may be used without asking. */
  get usable(): number {
    return Math.max(0, Math.min(this.idle, this.keep - this.used));
  }

  /**
   * How many to keep while nobody else asks for them: for a while also those that nothing uses.
   *
   * @param now on the local clock, epoch milliseconds
   */
  keptUnasked(now: number): number {
    const isKept = this.keep === Infinity && now < this.lingersUntil(now);
    return this.used + (isKept ? this.idle : 0);
  }

  /** Until when those that nothing uses are kept at most, `Infinity` if all are used; epoch milliseconds on the local clock. */
  lingersUntil(now: number): number {
    if (this.idle === 0) this.#idleSince = undefined;
    else this.#idleSince ??= now;
    return this.#idleSince === undefined ? Infinity : this.#idleSince + LINGER;
  }
}
