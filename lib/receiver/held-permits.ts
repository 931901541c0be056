import type { Broker, StoredMessage } from '../broker/broker.interface.js';
import type { Delivery } from '../consumer/delivery.js';
import type { Clock, Timer } from '../time/clock.js';

/** How soon to look again if the broker cannot be asked, in milliseconds. */
const PAUSE = 1000;

interface Held {
  readonly delivery: Delivery;
  timer: Timer;
}

/**
 * Keeps the permits of deliveries that were received, as long as they are in flight: until this process settles them, or until their lease
 * is found to have ended, or another process has settled them, when it would have ended.
 */
export class HeldPermits {
  readonly #broker: Pick<Broker, 'get' | 'now'>;
  readonly #clock: Clock;
  /** By token. */
  readonly #held = new Map<string, Held>();

  constructor({ broker, clock }: { broker: Pick<Broker, 'get' | 'now'>; clock: Clock }) {
    this.#broker = broker;
    this.#clock = clock;
  }

  hold(delivery: Delivery): void {
    if (!delivery.permits) return;
    if (delivery.isGone) return delivery.permits.ended();
    const timer = this.#lookAfter(delivery, delivery.leaseEndsAt - this.#clock.now());
    this.#held.set(delivery.token, { delivery, timer });
  }

  /** It is in flight no more. */
  free(token: string): void {
    const held = this.#held.get(token);
    if (!held) return;
    this.#held.delete(token);
    held.timer.cancel();
    held.delivery.permits?.ended();
  }

  close(): void {
    for (const { timer } of this.#held.values()) timer.cancel();
    this.#held.clear();
  }

  #lookAfter(delivery: Delivery, pause: number): Timer {
    return this.#clock.setTimer(pause, () => void this.#look(delivery));
  }

  /** Whoever has it may have extended its lease. Never rejects. */
  async #look(delivery: Delivery): Promise<void> {
    const { partition, storedId, token } = delivery;
    const left = await this.#broker.get(partition, storedId).then(
      (stored) => (stored && isStill(delivery, stored) ? stored.at - this.#broker.now(partition) : 0),
      () => PAUSE,
    );
    const held = this.#held.get(token);
    if (!held) return;
    if (left > 0) held.timer = this.#lookAfter(delivery, left);
    else this.free(token);
  }
}

/** Whether it is this delivery that is in flight, and not a later one of the message. */
function isStill({ number }: Delivery, { state, deliveries }: StoredMessage): boolean {
  return state === 'in-flight' && deliveries === number;
}
