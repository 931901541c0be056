import type { Delivery } from './delivery.js';

/**
 * The deliveries of one partition that are on their way: those that run, redeliveries that wait for an earlier run to end, and those at most
 * once that wait for a slot.
 */
export class RunningDeliveries implements Iterable<Delivery> {
  /** By stored id, until the handler has ended: it may outlive the outcome, such as after a timeout. */
  #runs = new Map<string, Delivery>();
  /** By stored id. */
  readonly #waits = new Map<string, Delivery>();
  /** Of messages that are gone already: others with their ids may run beside them. */
  readonly #gone = new Set<Delivery>();

  get size(): number {
    return this.#runs.size + this.#waits.size + this.#gone.size;
  }

  *[Symbol.iterator](): Iterator<Delivery> {
    yield* this.#runs.values();
    yield* this.#waits.values();
    yield* this.#gone;
  }

  /** Those whose outcome is not decided; for the others a lease is of no use. */
  get unsettled(): Delivery[] {
    return [...this].filter(({ settled }) => !settled);
  }

  /** Those that wait for an earlier run of their message to end. */
  get waiting(): Iterable<Delivery> {
    return this.#waits.values();
  }

  /** The run of a message that has not ended. */
  runOf(storedId: string): Delivery | undefined {
    return this.#runs.get(storedId);
  }

  /** The delivery of a receipt. */
  find(storedId: string, token: string): Delivery | undefined {
    return [this.#waits.get(storedId), this.#runs.get(storedId)].find((delivery) => delivery?.token === token);
  }

  /** A delivery that runs from now on; no other one of its message does. */
  add(delivery: Delivery): void {
    // A new map in place of an empty one: the tables that a map outgrows hold what was in them until a full collection, and
    // with many partitions every map grows old between two claims.
    if (this.#runs.size === 0) this.#runs = new Map();
    this.#runs.set(delivery.storedId, delivery);
  }

  /** A delivery at most once, from when it is claimed. */
  addGone(delivery: Delivery): void {
    this.#gone.add(delivery);
  }

  /**
   * A redelivery that waits from now on.
   *
   * @returns the one of the same message that has waited until now
   */
  addWaiting(delivery: Delivery): Delivery | undefined {
    const before = this.#waits.get(delivery.storedId);
    this.#waits.set(delivery.storedId, delivery);
    return before;
  }

  remove(delivery: Delivery): void {
    if (this.#gone.delete(delivery)) return;
    if (this.#runs.get(delivery.storedId) === delivery) this.#runs.delete(delivery.storedId);
    else if (this.#waits.get(delivery.storedId) === delivery) this.#waits.delete(delivery.storedId);
  }
}
