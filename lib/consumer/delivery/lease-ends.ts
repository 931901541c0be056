import { DeliveryAbortedError } from '../../errors/handling.errors.js';
import type { Clock } from '../../time/clock.js';
import { DueTimer, localClock } from '../../time/due-timer.js';
import type { Delivery } from './delivery.js';

/** A holder of deliveries whose leases end. */
export interface Leased {
  /** Deliveries for which a lease is of use. */
  readonly unsettled: Iterable<Delivery>;
  /** Called when the lease of a delivery has ended and its signal has aborted. */
  lapsed?(delivery: Delivery): void;
}

/**
 * Aborts the deliveries of this process at the moment their lease ends. Leases are renewed long before, so the one timer usually fires once
 * per lease, finds that nothing has ended, and is set to the earliest end at that time.
 */
export class LeaseEnds {
  readonly #clock: Clock;
  readonly #timer: DueTimer;
  /** Holders with a delivery that is not aborted; some have none any more. */
  readonly #watched = new Set<Leased>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#timer = new DueTimer(clock, localClock(clock), () => this.#abortEnded());
  }

  /** @param earliest end of the leases that have begun, in epoch milliseconds on the local clock */
  watch(leased: Leased, earliest: number): void {
    this.#watched.add(leased);
    this.#timer.arm(earliest);
  }

  /**
   * Call this before using anything read from the broker: after a blocked event loop, it is read before any timer fires, and a handler
   * whose lease has ended must learn of that first.
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
    for (const leased of this.#watched) {
      let earliest = Infinity;
      for (const delivery of leased.unsettled) {
        if (delivery.endsAt <= now) {
          delivery.abort(new DeliveryAbortedError('LEASE_LOST'));
          leased.lapsed?.(delivery);
        } else if (leased.lapsed || !delivery.aborted) earliest = Math.min(earliest, delivery.endsAt);
      }
      if (earliest === Infinity) this.#watched.delete(leased);
      next = Math.min(next, earliest);
    }
    if (next < Infinity) this.#timer.arm(next);
  }
}
