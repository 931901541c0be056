import type { Delivery } from './delivery.js';
import type { RunningDeliveries } from './lease-renewer.js';

/** Deliveries that a handler is to be called with. */
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

/**
 * Groups what was claimed into calls of at most `size` deliveries, one a slot.
 *
 * A message whose earlier delivery still runs here, since its lease ended unnoticed or its handler ran past its timeout,
 * must not run twice at once. It waits in a call of its own, together only with those that wait for the same call. Such a
 * call needs a slot that was not reckoned with where the others fill theirs; then it is left over.
 *
 * @param slots enough for `deliveries` in calls of `size`
 */
export function planCalls(
  deliveries: readonly Delivery[],
  running: RunningDeliveries,
  { size, slots }: { readonly size: number; readonly slots: number },
): CallPlan {
  const fresh: Delivery[] = [];
  const waiting = new Map<Promise<void>, Delivery[]>();
  for (const delivery of deliveries) {
    const earlier = running.get(delivery.storedId);
    if (!earlier) fresh.push(delivery);
    else waiting.set(earlier.finished, [...(waiting.get(earlier.finished) ?? []), delivery]);
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
