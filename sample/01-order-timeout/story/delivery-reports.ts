import type { DelayQueueEvents, DeliveryEvent, QueueEvents } from 'nestjs-delay-queue';
import { type Observable, first, map, merge, mergeMap } from 'rxjs';

type Ending =
  | (QueueEvents['acked'] & { readonly ending: 'acked' })
  | (QueueEvents['retried'] & { readonly ending: 'retried' })
  | (QueueEvents['dead'] & { readonly ending: 'dead' });

/** A delivery that has ended: its lateness and its outcome. */
export type DeliveryReport = Ending & { readonly lateness: number };

/** Emits one report for each delivery when it ends. */
export function deliveryReports({ delivered, acked, retried, dead }: DelayQueueEvents): Observable<DeliveryReport> {
  const endings: Observable<Ending> = merge(
    acked.pipe(map((event) => ({ ...event, ending: 'acked' as const }))),
    retried.pipe(map((event) => ({ ...event, ending: 'retried' as const }))),
    dead.pipe(map((event) => ({ ...event, ending: 'dead' as const }))),
  );
  return delivered.pipe(
    mergeMap((delivery) =>
      endings.pipe(
        first((ending) => isSameDelivery(ending, delivery)),
        map((ending) => ({ ...ending, lateness: delivery.lateness })),
      ),
    ),
  );
}

function isSameDelivery(a: DeliveryEvent, b: DeliveryEvent): boolean {
  return a.topic === b.topic && a.id === b.id && a.attempt === b.attempt;
}
