import type { ManualClock } from '../common/manual-clock.js';
import type { Activity } from './activity.js';

/** Moves a clock from timer to timer, each time as soon as nothing goes on any more. One move at a time. */
export class VirtualTime {
  readonly #clock: ManualClock;
  readonly #activity: Activity;
  #latest: Promise<void> = Promise.resolve();

  constructor(clock: ManualClock, activity: Activity) {
    this.#clock = clock;
    this.#activity = activity;
  }

  /** @param target tells where to, in epoch milliseconds, when the moves before are done */
  async moveTo(target: () => number): Promise<void> {
    await this.#afterOthers(async () => {
      const end = target();
      do await this.#activity.quiet();
      while (this.#clock.fireNext(end));
      this.#clock.moveTo(end);
    });
  }

  /** Lets time run by itself until the work is done, which may wait for timers that nobody else would let fire. */
  async runDuring<T>(work: Promise<T>): Promise<T> {
    const hasEnded = probe(work);
    await this.#afterOthers(async () => {
      do await this.#activity.quiet();
      while (!hasEnded() && this.#clock.fireNext(Infinity));
    });
    return work;
  }

  #afterOthers(move: () => Promise<void>): Promise<void> {
    const moving = this.#latest.then(move);
    this.#latest = moving.catch(() => {});
    return moving;
  }
}

/** Tells whether a promise is settled. */
function probe(work: Promise<unknown>): () => boolean {
  let ended = false;
  const end = (): void => {
    ended = true;
  };
  work.then(end, end);
  return () => ended;
}
