/** Share of the earlier measurements that each new one makes it forget. */
const FORGETTING = 0.05;

/**
 * Estimates how long something takes: the second longest of the measured times, which fades slowly. The longest may include a standstill of
 * the process, which says nothing about the future.
 */
export class ExpectedTime {
  #expected: number;
  #longest: number;
  /** End of the longest one. */
  #longestUntil = -Infinity;

  /** @param first expected time before the first measurement, in milliseconds */
  constructor(first = 0) {
    this.#expected = first;
    this.#longest = first;
  }

  /** Expected time, in milliseconds. */
  get value(): number {
    return this.#expected;
  }

  /** Records a measured time by its start and end, in milliseconds. */
  measured(from: number, until: number): void {
    const time = until - from;
    // A measurement that began before the longest was over may include the same standstill.
    const isAnother = from >= this.#longestUntil;
    this.#expected = followed(this.#expected, Math.min(time, isAnother ? this.#longest : this.#expected));
    if (isAnother && time >= this.#longest) this.#longestUntil = until;
    this.#longest = followed(this.#longest, time);
  }
}

/** Returns the expected value after a measurement: it rises at once, and falls slowly. */
export function followed(before: number, measured: number): number {
  return measured >= before ? measured : mixed(before, measured);
}

/** Returns nearly the earlier value. */
export function mixed(before: number, measured: number): number {
  return before * (1 - FORGETTING) + measured * FORGETTING;
}
