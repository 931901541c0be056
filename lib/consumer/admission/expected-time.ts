/** How much of what was measured before is forgotten with each measurement. */
const FORGETTING = 0.05;

/**
 * How long something is expected to take: as long as the longest but one of what was measured, which is slowly forgotten. The longest may have met
 * a standstill of the process, which is no measure of what comes.
 */
export class ExpectedTime {
  #expected: number;
  #longest: number;
  /** When that was over. */
  #longestUntil = -Infinity;

  /** @param first what is expected before anything was measured, in milliseconds */
  constructor(first = 0) {
    this.#expected = first;
    this.#longest = first;
  }

  /** Milliseconds. */
  get value(): number {
    return this.#expected;
  }

  /** It took from one time until another, in milliseconds. */
  measured(from: number, until: number): void {
    const time = until - from;
    // What has begun before the longest was over may have met the same standstill.
    const isAnother = from >= this.#longestUntil;
    this.#expected = followed(this.#expected, Math.min(time, isAnother ? this.#longest : this.#expected));
    if (isAnother && time >= this.#longest) this.#longestUntil = until;
    this.#longest = followed(this.#longest, time);
  }
}

/** What is expected after a measurement: at once up, and slowly down. */
export function followed(before: number, measured: number): number {
  return measured >= before ? measured : mixed(before, measured);
}

/** Nearly what was before. */
export function mixed(before: number, measured: number): number {
  return before * (1 - FORGETTING) + measured * FORGETTING;
}
