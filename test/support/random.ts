/** Random numbers that their seed brings back (mulberry32): that of the run, which a failure shows, unless a test has its own. */
export class SeededRandom {
  readonly seed: number;
  #state: number;

  constructor(seed = Number(process.env['SEED'])) {
    this.seed = seed;
    this.#state = seed;
  }

  /** From 0 up to, but not including, 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from `min` to `max`, both included. */
  integer(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  /** From `min` up to, but not including, `max`; not only whole numbers. */
  between(min: number, max: number): number {
    return min + this.next() * (max - min);
  }

  /** One of the items, of which there has to be at least one. */
  pick<T>(items: readonly T[]): T {
    if (items.length === 0) throw new Error('Nothing to pick from');
    return items[Math.floor(this.next() * items.length)] as T;
  }

  shuffled<T>(items: readonly T[]): T[] {
    const shuffled = [...items];
    for (let i = shuffled.length - 1; i > 0; i--) {
      const j = this.integer(0, i);
      [shuffled[i], shuffled[j]] = [shuffled[j] as T, shuffled[i] as T];
    }
    return shuffled;
  }
}
