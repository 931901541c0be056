import type { Delivery } from './delivery.js';
import type { Claimant } from '../admission/handler-slots.js';
import type { TopicHandling } from './topic-handling.js';

/**
 * Deliveries at most once for which there was no slot when their claim was answered, since it had lost its slots meanwhile. They cannot be
 * given back, so they wait for slots, and for all of them a shutdown waits.
 */
export class SlotQueue implements Claimant {
  readonly #handling: TopicHandling;
  readonly #size: number;
  readonly #begin: (deliveries: readonly Delivery[]) => void;
  #waiting: Delivery[] = [];

  /** @param begin makes a call, which has its slot */
  constructor(handling: TopicHandling, begin: (deliveries: readonly Delivery[]) => void) {
    this.#handling = handling;
    this.#size = handling.handler.batch ?? 1;
    this.#begin = begin;
  }

  get priority(): number {
    return this.#handling.priority;
  }

  get wanted(): number {
    return Math.ceil(this.#waiting.length / this.#size);
  }

  add(deliveries: readonly Delivery[]): void {
    if (deliveries.length === 0) return;
    const before = this.wanted;
    this.#waiting.push(...deliveries);
    this.#handling.slots.owe(this.wanted - before);
    this.#handling.slots.request(this);
  }

  grant(granted: number): void {
    const { slots } = this.#handling;
    const before = this.wanted;
    let used = 0;
    for (; used < granted && this.#waiting.length > 0; used++) this.#begin(this.#waiting.splice(0, this.#size));
    slots.owe(this.wanted - before);
    if (used < granted) slots.release(granted - used);
    if (this.#waiting.length > 0) slots.request(this);
    else slots.withdraw(this);
  }

  /** Gives up what still waits, and answers it. */
  giveUp(): readonly Delivery[] {
    const { slots } = this.#handling;
    slots.withdraw(this);
    slots.owe(-this.wanted);
    return this.#waiting.splice(0);
  }
}
