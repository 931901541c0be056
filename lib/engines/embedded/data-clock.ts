import type { Clock } from '../../time/clock.js';
import type { EstimatedClock } from '../../time/due-timer.js';

/** By how much the clock of the machine has to differ until it counts as set, in milliseconds: it is read in whole ones. */
const STEP = 2;

/**
 * The clock that data in this process goes by. It runs with the clock of the process, and follows that of the machine when that is set, or has gone
 * on while the machine slept, as the clock of a Redis server does.
 */
export class DataClock implements EstimatedClock {
  readonly #clock: Clock;
  readonly #machine: (() => number) | undefined;
  readonly #listeners = new Set<() => void>();
  #offset = 0;

  /** @param machine its time, in epoch milliseconds; `undefined`: nobody sets it */
  constructor(clock: Clock, machine?: () => number) {
    this.#clock = clock;
    this.#machine = machine;
  }

  /** Each look compares the clocks, and so each heartbeat does. */
  now(): number {
    const local = this.#clock.now();
    if (this.#machine) this.#follow(this.#machine() - local);
    return local + this.#offset;
  }

  /** The local time at a time of the data; both in epoch milliseconds. */
  toLocal(time: number): number {
    return time - this.#offset;
  }

  onStep(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #follow(offset: number): void {
    if (Math.abs(offset - this.#offset) < STEP) return;
    this.#offset = offset;
    // Whoever listens looks at this clock, perhaps just now.
    queueMicrotask(() => {
      const told = [...this.#listeners];
      for (const listener of told) listener();
    });
  }
}
