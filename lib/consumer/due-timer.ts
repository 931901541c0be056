import type { Clock, Timer } from '../time/clock.js';

/** Fires once when a point on the broker's clock is reached. Of several points the earliest counts. */
export class DueTimer {
  readonly #clock: Clock;
  readonly #brokerNow: () => number;
  readonly #onDue: () => void;
  #timer: Timer | undefined;
  #at = Infinity;

  /** @param brokerNow the broker's clock, epoch milliseconds */
  constructor(clock: Clock, brokerNow: () => number, onDue: () => void) {
    this.#clock = clock;
    this.#brokerNow = brokerNow;
    this.#onDue = onDue;
  }

  /** @param at epoch milliseconds on the broker's clock; in the past: fires at once */
  arm(at: number): void {
    if (at >= this.#at) return;
    this.disarm();
    this.#at = at;
    const remaining = at - this.#brokerNow();
    if (remaining <= 0) return this.#fire();
    this.#timer = this.#clock.setTimer(Math.ceil(remaining), () => this.#elapsed());
  }

  /** When it fires, epoch milliseconds on the broker's clock; `Infinity` if it is not armed. */
  get at(): number {
    return this.#at;
  }

  disarm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#at = Infinity;
  }

  /** The estimate of the broker's clock may have changed while the timer ran. */
  #elapsed(): void {
    const remaining = this.#at - this.#brokerNow();
    if (remaining <= 0) return this.#fire();
    this.#timer = this.#clock.setTimer(Math.ceil(remaining), () => this.#elapsed());
  }

  #fire(): void {
    this.disarm();
    this.#onDue();
  }
}
