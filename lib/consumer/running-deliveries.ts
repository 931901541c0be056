import type { Delivery } from './delivery.js';

/** Deliveries that are to be handed over together. */
export interface PlannedCall {
  readonly deliveries: readonly Delivery[];
  /** The call that has to end before; it runs an earlier delivery of the same messages. */
  readonly after: Promise<void> | undefined;
}

export interface CallPlan {
  readonly calls: readonly PlannedCall[];
  /** Those for which no slot is left. */
  readonly excess: readonly Delivery[];
}

/** The deliveries of one partition whose handlers run, or that wait for an earlier run of the same message to end. */
export class RunningDeliveries implements Iterable<Delivery> {
  #byId = new Map<string, Delivery>();

  get size(): number {
    return this.#byId.size;
  }

  [Symbol.iterator](): Iterator<Delivery> {
    return this.#byId.values();
  }

  get(storedId: string): Delivery | undefined {
    return this.#byId.get(storedId);
  }

  add(delivery: Delivery): void {
    // A new map in place of an empty one: the tables that a map outgrows hold what was in them until a full collection, and
    // with many partitions every map grows old between two claims.
    if (this.#byId.size === 0) this.#byId = new Map();
    this.#byId.set(delivery.storedId, delivery);
  }

  /** Nothing if a later delivery of the message has taken its place. */
  remove(delivery: Delivery): void {
    if (this.#byId.get(delivery.storedId) === delivery) this.#byId.delete(delivery.storedId);
  }

  /** A handler may outlive the outcome, such as after a timeout; then the lease is of no use. */
  get unsettled(): Delivery[] {
    return [...this.#byId.values()].filter(({ settled }) => !settled);
  }

  /**
   * Groups what was claimed into calls of at most `size` deliveries, one a slot.
   *
   * A message whose earlier delivery still runs here, since its lease ended unnoticed or its handler ran past its timeout,
   * must not run twice at once. It waits in a call of its own, together only with those that wait for the same call. Such a
   * call needs a slot that was not reckoned with. If the other calls fill all slots, it is left over.
   *
   * @param slots enough for `deliveries` in calls of `size`
   */
  plan(deliveries: readonly Delivery[], { size, slots }: { readonly size: number; readonly slots: number }): CallPlan {
    const fresh: Delivery[] = [];
    const waiting = new Map<Promise<void>, Delivery[]>();
    for (const delivery of deliveries) {
      const ended = this.#byId.get(delivery.storedId)?.call?.ended;
      if (!ended) fresh.push(delivery);
      else waiting.set(ended, [...(waiting.get(ended) ?? []), delivery]);
    }
    const calls: PlannedCall[] = [];
    for (let first = 0; first < fresh.length; first += size) {
      calls.push({ deliveries: fresh.slice(first, first + size), after: undefined });
    }
    const excess: Delivery[] = [];
    for (const [after, group] of waiting) {
      if (calls.length < slots) calls.push({ deliveries: group, after });
      else excess.push(...group);
    }
    return { calls, excess };
  }
}
