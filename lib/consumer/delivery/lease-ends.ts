import { DeliveryAbortedError } from '../../errors/handling.errors.js';
import type { Clock } from '../../time/clock.js';
import { DueTimer, localClock } from '../../time/due-timer.js';
import type { RunningDeliveries } from './running-deliveries.js';

/**
 * Aborts the deliveries of this process whose lease ends, at that moment. Leases are renewed long before, so the one timer
 * mostly fires once a lease, finds that nothing has ended, and is set to the earliest end there is then.
 */
export class LeaseEnds {
  readonly #clock: Clock;
  readonly #timer: DueTimer;
  /** Whatever has a delivery that is not aborted; some have none any more. */
  readonly #watched = new Set<RunningDeliveries>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#timer = new DueTimer(clock, localClock(clock), () => this.#abortEnded());
  }

  /** @param earliest when the first lease of what has begun ends; epoch milliseconds on the local clock */
  watch(running: RunningDeliveries, earliest: number): void {
    this.#watched.add(running);
    this.#timer.arm(earliest);
  }

  /**
   * To be called before anything that was read from the broker is used: after the event loop was blocked it is read before any
   * timer fires, and a handler whose lease has ended must hear of that first.
   */
  check(): void {
    if (this.#clock.now() < this.#timer.at) return;
    this.#timer.disarm();
    this.#abortEnded();
  }

  close(): void {
    this.#timer.disarm();
    this.#watched.clear();
  }

  #abortEnded(): void {
    const now = this.#clock.now();
    let next = Infinity;
    for (const running of this.#watched) {
      let earliest = Infinity;
      for (const delivery of running.unsettled) {
        if (delivery.endsAt <= now) delivery.abort(new DeliveryAbortedError('LEASE_LOST'));
        if (!delivery.aborted) earliest = Math.min(earliest, delivery.endsAt);
      }
      if (earliest === Infinity) this.#watched.delete(running);
      next = Math.min(next, earliest);
    }
    if (next < Infinity) this.#timer.arm(next);
  }
}
