import type { Clock, Timer } from './clock.js';

interface PendingTimer extends Timer {
  readonly fireAt: number;
  readonly callback: () => void;
}

/** A clock that stands still until it is told to move. */
export class ManualClock implements Clock {
  readonly #timers = new Set<PendingTimer>();
  #now: number;

  constructor(now = Date.UTC(2026, 0, 1)) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  /** When the next timer fires, in epoch milliseconds; `undefined` where none is set. */
  get nextTimerAt(): number | undefined {
    return this.#earliest()?.fireAt;
  }

  setTimer(delay: number, callback: () => void): Timer {
    const timer: PendingTimer = {
      fireAt: this.#now + Math.max(0, delay),
      callback,
      cancel: () => this.#timers.delete(timer),
    };
    this.#timers.add(timer);
    return timer;
  }

  /**
   * Moves time forward and fires what falls due on the way, in order of time. Between two timers the promises they
   * resolved get to run, so what they set in motion happens at their time, not at the end.
   *
   * @param delay milliseconds
   */
  async advance(delay: number): Promise<void> {
    const target = this.#now + delay;
    await settlePromises();
    for (let timer = this.#earliest(); timer && timer.fireAt <= target; timer = this.#earliest()) {
      this.#now = Math.max(this.#now, timer.fireAt);
      this.#timers.delete(timer);
      timer.callback();
      await settlePromises();
    }
    this.#now = target;
    await settlePromises();
  }

  #earliest(): PendingTimer | undefined {
    let earliest: PendingTimer | undefined;
    for (const timer of this.#timers) {
      if (!earliest || timer.fireAt < earliest.fireAt) earliest = timer;
    }
    return earliest;
  }
}

/** Lets every promise chain that needs no I/O run to its end: chains may hop through a few turns of the event loop. */
async function settlePromises(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}
