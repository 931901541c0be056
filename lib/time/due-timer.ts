import type { Clock, Timer } from './clock.js';

/** Clock of the broker, as this process estimates it. */
export interface EstimatedClock {
  /** Returns epoch milliseconds with fractions. */
  now(): number;
  /** Calls the listener when the estimate has stepped. Returns a function that ends it. */
  onStep(listener: () => void): () => void;
}

/** Returns the local clock, which makes no steps. */
export function localClock(clock: Clock): EstimatedClock {
  return { now: () => clock.now(), onStep: () => () => {} };
}

/** Fires once when the broker's clock reaches a point, even if that clock is set meanwhile. Of several points the earliest counts. */
export class DueTimer {
  readonly #clock: Clock;
  readonly #brokerClock: EstimatedClock;
  readonly #onDue: () => void;
  #timer: Timer | undefined;
  #unlisten: (() => void) | undefined;
  #at = Infinity;

  constructor(clock: Clock, brokerClock: EstimatedClock, onDue: () => void) {
    this.#clock = clock;
    this.#brokerClock = brokerClock;
    this.#onDue = onDue;
  }

  /** @param at epoch milliseconds on the broker's clock; if in the past, it fires at once */
  arm(at: number): void {
    if (at >= this.#at) return;
    this.#at = at;
    this.#look();
    if (this.#at !== Infinity) this.#unlisten ??= this.#brokerClock.onStep(() => this.#look());
  }

  /** Time when it fires, in epoch milliseconds on the broker's clock; `Infinity` if it is not armed. */
  get at(): number {
    return this.#at;
  }

  disarm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#unlisten?.();
    this.#unlisten = undefined;
    this.#at = Infinity;
  }

  /** Fires if it is time, else waits for the rest by the broker's clock. */
  #look(): void {
    this.#timer?.cancel();
    const remaining = this.#at - this.#brokerClock.now();
    if (remaining > 0) {
      this.#timer = this.#clock.setTimer(Math.ceil(remaining), () => this.#look());
      return;
    }
    this.disarm();
    this.#onDue();
  }
}
