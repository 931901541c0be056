import type { Delivery } from './delivery.js';
import type { CheckedDelivery } from './delivery-check.js';
import type { DeliveryGuarantee } from './delivery-guarantee.interface.js';
import type { DeliveryReporter } from './delivery-reporter.js';
import { untilRenewed } from './late-permits.js';
import type { RunningDeliveries } from './running-deliveries.js';
import { SlotQueue } from './slot-queue.js';
import type { TopicHandling } from './topic-handling.js';
import type { Verdict } from './verdict.js';

export interface AtMostOnceOptions {
  readonly handling: TopicHandling;
  readonly running: RunningDeliveries;
  readonly reporter: DeliveryReporter;
  /** Makes a call, which has its slot. */
  readonly begin: (deliveries: readonly Delivery[]) => void;
}

/** A message is gone once it is claimed: its delivery has no lease, is not settled, and cannot be given back. */
export class AtMostOnce implements DeliveryGuarantee {
  readonly renewer = undefined;
  readonly #handling: TopicHandling;
  readonly #running: RunningDeliveries;
  readonly #reporter: DeliveryReporter;
  readonly #slots: SlotQueue;

  constructor({ handling, running, reporter, begin }: AtMostOnceOptions) {
    this.#handling = handling;
    this.#running = running;
    this.#reporter = reporter;
    this.#slots = new SlotQueue(handling, begin);
  }

  claimed(deliveries: readonly Delivery[]): Delivery[] {
    for (const delivery of deliveries) this.#running.addGone(delivery);
    return [...deliveries];
  }

  withoutSlots(deliveries: readonly Delivery[]): void {
    this.#slots.add(deliveries);
  }

  untilPermitted(checked: readonly CheckedDelivery[]): Promise<void> | undefined {
    const now = this.#handling.context.clock.now();
    const isReady = checked.every(({ delivery }) => !delivery.begin && !delivery.permits?.isOver(now));
    return isReady ? undefined : untilRenewed(this.#handling, checked);
  }

  mayBegin(): boolean {
    return true;
  }

  decided(delivery: Delivery, verdict: Verdict): void {
    this.#reporter.reportGone(delivery, verdict);
  }

  giveUp(): readonly Delivery[] {
    return this.#slots.giveUp();
  }
}
