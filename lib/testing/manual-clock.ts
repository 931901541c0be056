import type { Clock, Timer } from '../time/clock.js';

interface PendingTimer extends Timer {
  readonly fireAt: number;
  readonly callback: () => void;
}

/** A clock that stands still until it is moved. */
export class ManualClock implements Clock {
  readonly #timers = new Set<PendingTimer>();
  readonly #onMove: (now: number) => void;
  #now: number;

  /**
   * @param now epoch milliseconds
   * @param onMove called with each time that the clock moves to, before any timer of that time fires
   */
  constructor(now = Date.UTC(2026, 0, 1), onMove: (now: number) => void = () => {}) {
    this.#now = now;
    this.#onMove = onMove;
  }

  now(): number {
    return this.#now;
  }

  /** Time when the next timer fires, in epoch milliseconds; `undefined` if none is set. */
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
   * Moves time forward and fires the timers on the way, in order of time. Between two timers the promises that they resolved get to run, so
   * their effects happen at their time, not at the end.
   *
   * @param delay milliseconds
   */
  async advance(delay: number): Promise<void> {
    const target = this.#now + delay;
    do await settlePromises();
    while (this.fireNext(target));
    this.moveTo(target);
    await settlePromises();
  }

  /**
   * Moves time to the next timer and fires it, if that is not after `limit` (epoch milliseconds).
   *
   * @returns whether there was one
   */
  fireNext(limit: number): boolean {
    const timer = this.#earliest();
    if (!timer || timer.fireAt > limit) return false;
    this.moveTo(timer.fireAt);
    timer.cancel();
    timer.callback();
    return true;
  }

  /** Moves time forward to `time` (epoch milliseconds) without firing the timers on the way. Never moves back. */
  moveTo(time: number): void {
    if (time <= this.#now) return;
    this.#now = time;
    this.#onMove(time);
  }

  #earliest(): PendingTimer | undefined {
    let earliest: PendingTimer | undefined;
    for (const timer of this.#timers) {
      if (!earliest || timer.fireAt < earliest.fireAt) earliest = timer;
    }
    return earliest;
  }
}

/** Lets every promise chain without I/O run to its end: a chain can take a few turns of the event loop. */
async function settlePromises(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}
