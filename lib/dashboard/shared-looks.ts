import type { Clock } from '../time/clock.js';

/** Age up to which a look is always reused, in milliseconds. */
const FRESH = 2000;

/**
 * Factor of its own duration for which a look that took long is kept. So a page, which takes two such looks, takes less than a hundredth
 * of the time of Redis, however many watch it, unless a look takes so long that the longest time below is shorter.
 */
const REST = 200;

/** Longest time that a look is kept, in milliseconds. */
const LONGEST_KEPT = 180_000;

/** Longest time to keep a look that costs Redis a few milliseconds, however long it takes here, in milliseconds. */
export const cheap = (): number => 10_000;

/** Most looks that are kept: one for each page that is open. */
const MAX_LOOKS = 500;

/** Answer of a look. */
export interface Taken<T> {
  readonly answer: T;
  /** Time of the look, or of the oldest look that it is made of, in epoch milliseconds by the clock of this process. */
  readonly takenAt: number;
}

/** Takes looks, or reuses those that others have taken. */
export interface Looks {
  /**
   * @param name equal names mean the same look
   * @param look takes the look; with its argument it takes the looks that it is made of
   * @param mostOf returns the longest time to keep an answer, in milliseconds: a look may have taken long only because this process
   *   is busy, or Redis far away
   */
  take<T>(name: string, look: (looks: Looks) => Promise<T>, mostOf?: (answer: T) => number): Promise<T>;
}

interface Look {
  readonly result: Promise<Taken<unknown>>;
  /** Time until which it is reused; `undefined` while it is under way. */
  until: number | undefined;
}

/** Lets all viewers of a page share one look at Redis. */
export class SharedLooks {
  readonly #clock: Clock;
  readonly #looks = new Map<string, Look>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** See {@link Looks.take}. */
  async take<T>(
    name: string,
    look: (looks: Looks) => Promise<T>,
    mostOf: (answer: T) => number = () => LONGEST_KEPT,
  ): Promise<Taken<T>> {
    const now = this.#clock.now();
    const known = this.#looks.get(name);
    if (known && (known.until === undefined || now < known.until)) return known.result as Promise<Taken<T>>;
    this.#forgetOld(now);
    const result = this.answer(look);
    const entry: Look = { result, until: undefined };
    this.#looks.set(name, entry);
    try {
      const taken = await result;
      const took = this.#clock.now() - now;
      const most = Math.min(LONGEST_KEPT, mostOf(taken.answer));
      entry.until = this.#clock.now() + Math.max(FRESH, Math.min(most, took * REST));
      return taken;
    } catch (error) {
      if (this.#looks.get(name) === entry) this.#looks.delete(name);
      throw error;
    }
  }

  /** Returns the answer of a look that is made of others, with the time of the oldest of them. */
  async answer<T>(look: (looks: Looks) => Promise<T>): Promise<Taken<T>> {
    let takenAt = this.#clock.now();
    const take: Looks['take'] = async (...asked) => {
      const taken = await this.take(...asked);
      takenAt = Math.min(takenAt, taken.takenAt);
      return taken.answer;
    };
    const answer = await look({ take });
    return { answer, takenAt };
  }

  /** Forgets all looks, so that a user who has changed something sees it at once. */
  forget(): void {
    this.#looks.clear();
  }

  #forgetOld(now: number): void {
    for (const [name, { until = Infinity }] of this.#looks) if (until <= now) this.#looks.delete(name);
    for (const name of this.#looks.keys()) {
      if (this.#looks.size < MAX_LOOKS) return;
      this.#looks.delete(name);
    }
  }
}
