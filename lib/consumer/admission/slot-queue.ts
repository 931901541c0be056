import type { Claimant, HandlerPlace } from './handler-slots.js';

/**
 * Queue of at-most-once deliveries that had no slot when their claim was answered, since the claim had lost its slots meanwhile. They
 * cannot be given back, so they wait for slots, and a shutdown waits for all of them.
 */
export class SlotQueue<T> implements Claimant {
  readonly #place: HandlerPlace;
  readonly #begin: (deliveries: readonly T[]) => void;
  #waiting: T[] = [];

  /** @param begin makes a call, which has its slot already */
  constructor(place: HandlerPlace, begin: (deliveries: readonly T[]) => void) {
    this.#place = place;
    this.#begin = begin;
  }

  get priority(): number {
    return this.#place.priority;
  }

  get wanted(): number {
    return Math.ceil(this.#waiting.length / this.#place.batch);
  }

  add(deliveries: readonly T[]): void {
    if (deliveries.length === 0) return;
    const { slots } = this.#place;
    const before = this.wanted;
    this.#waiting.push(...deliveries);
    slots.owe(this.wanted - before);
    slots.request(this);
  }

  grant(granted: number): void {
    const { slots, batch } = this.#place;
    const before = this.wanted;
    let used = 0;
    for (; used < granted && this.#waiting.length > 0; used++) this.#begin(this.#waiting.splice(0, batch));
    slots.owe(this.wanted - before);
    if (used < granted) slots.release(granted - used);
    if (this.#waiting.length > 0) slots.request(this);
    else slots.withdraw(this);
  }

  /** Gives up the waiting deliveries and returns them. */
  giveUp(): readonly T[] {
    const { slots } = this.#place;
    slots.withdraw(this);
    slots.owe(-this.wanted);
    return this.#waiting.splice(0);
  }
}
