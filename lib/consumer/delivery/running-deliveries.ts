import type { Delivery } from './delivery.js';

/**
 * Deliveries of one partition that are under way: those that run, redeliveries that wait for an earlier run to end, and at-most-once
 * deliveries that wait for a slot.
 */
export class RunningDeliveries implements Iterable<Delivery> {
  /** Running deliveries by stored id, until the handler has ended: it can outlive the outcome, for example after a timeout. */
  #runs = new Map<string, Delivery>();
  /** Waiting redeliveries by stored id. */
  readonly #waits = new Map<string, Delivery>();
  /** Deliveries of messages that are gone already: others with the same ids can run beside them. */
  readonly #gone = new Set<Delivery>();

  get size(): number {
    return this.#runs.size + this.#waits.size + this.#gone.size;
  }

  *[Symbol.iterator](): Iterator<Delivery> {
    yield* this.#runs.values();
    yield* this.#waits.values();
    yield* this.#gone;
  }

  /** Deliveries whose outcome is not decided; the others have no use for a lease. */
  get unsettled(): Delivery[] {
    return [...this].filter(({ settled }) => !settled);
  }

  /** Deliveries that wait for an earlier run of their message to end. */
  get waiting(): Iterable<Delivery> {
    return this.#waits.values();
  }

  /** Returns the run of a message that has not ended. */
  runOf(storedId: string): Delivery | undefined {
    return this.#runs.get(storedId);
  }

  /** Returns the delivery of a receipt. */
  find(storedId: string, token: string): Delivery | undefined {
    return [this.#waits.get(storedId), this.#runs.get(storedId)].find((delivery) => delivery?.token === token);
  }

  /** Adds a delivery that runs from now on; no other one of its message does. */
  add(delivery: Delivery): void {
    // A new map in place of an empty one: the tables that a map outgrows hold what was in them until a full collection, and
    // with many partitions every map grows old between two claims.
    if (this.#runs.size === 0) this.#runs = new Map();
    this.#runs.set(delivery.storedId, delivery);
  }

  /** Adds an at-most-once delivery when it is claimed. */
  addGone(delivery: Delivery): void {
    this.#gone.add(delivery);
  }

  /**
   * Adds a redelivery that waits from now on.
   *
   * @returns the redelivery of the same message that has waited until now
   */
  addWaiting(delivery: Delivery): Delivery | undefined {
    const before = this.#waits.get(delivery.storedId);
    this.#waits.set(delivery.storedId, delivery);
    return before;
  }

  remove(delivery: Delivery): void {
    if (this.#gone.size > 0 && this.#gone.delete(delivery)) return;
    if (this.#runs.get(delivery.storedId) === delivery) this.#runs.delete(delivery.storedId);
    else if (this.#waits.get(delivery.storedId) === delivery) this.#waits.delete(delivery.storedId);
  }
}
