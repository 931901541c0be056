import type { Clock, Timer } from './clock.js';

/** The broker's clock, as this process estimates it. */
export interface EstimatedClock {
  /** Epoch milliseconds with fractions. */
  now(): number;
  /** Calls the listener when the estimate has stepped. Returns what ends that. */
  onStep(listener: () => void): () => void;
}

/** The local clock, which makes no steps. */
export function localClock(clock: Clock): EstimatedClock {
  return { now: () => clock.now(), onStep: () => () => {} };
}

/** Fires once when a point on the broker's clock is reached, also if that clock is set meanwhile. Of several points the earliest counts. */
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

  /** @param at epoch milliseconds on the broker's clock; in the past: fires at once */
  arm(at: number): void {
    if (at >= this.#at) return;
    this.#at = at;
    this.#look();
    if (this.#at !== Infinity) this.#unlisten ??= this.#brokerClock.onStep(() => this.#look());
  }

  /** When it fires, epoch milliseconds on the broker's clock; `Infinity` if it is not armed. */
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

  /** Fires if it is time, else waits for as long as the broker's clock now says. */
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
