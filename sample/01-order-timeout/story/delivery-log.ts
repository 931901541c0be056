import type { DelayQueueEvents, Topic } from 'nestjs-delay-queue';
import {
  ReplaySubject,
  type Subscription,
  filter,
  firstValueFrom,
  takeWhile,
  throwError,
  timeout,
  toArray,
} from 'rxjs';
import type { Order } from '../orders/order.interface.js';
import { type DeliveryReport, deliveryReports } from './delivery-reports.js';

/** Keeps the reports, so that a wait for one also finds it if it has already come. */
export class DeliveryLog {
  readonly all: DeliveryReport[] = [];
  private readonly reports = new ReplaySubject<DeliveryReport>();
  private readonly recording: Subscription;

  constructor(events: DelayQueueEvents) {
    this.reports.subscribe((report) => this.all.push(report));
    this.recording = deliveryReports(events).subscribe(this.reports);
  }

  close(): void {
    this.recording.unsubscribe();
  }

  of(topic: Topic<unknown>, { id }: Order): DeliveryReport[] {
    return this.all.filter((report) => report.topic === topic.name && report.id === id);
  }

  /**
   * Resolves with all deliveries of an order's message, once it is acknowledged or dead.
   *
   * @throws Error if that has not happened by the deadline
   */
  whole(topic: Topic<unknown>, { id, item }: Order, deadline: Date): Promise<DeliveryReport[]> {
    return firstValueFrom(
      this.reports.pipe(
        filter((report) => report.topic === topic.name && report.id === id),
        takeWhile(({ ending }) => ending === 'retried', true),
        toArray(),
        timeout({
          first: deadline,
          with: () => throwError(() => new Error(`${topic.name} of ${item} did not end in time`)),
        }),
      ),
    );
  }
}
