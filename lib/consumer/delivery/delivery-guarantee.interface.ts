import type { Delivery } from './delivery.js';
import type { CheckedDelivery } from './delivery-check.js';
import type { LeaseRenewer } from './lease-renewer.js';
import type { Verdict } from './verdict.js';

/** What the option `delivery` of a topic means for the way of its messages through this process. */
export interface DeliveryGuarantee {
  /** `undefined`: there are no leases. */
  readonly renewer: LeaseRenewer | undefined;

  /** Takes in what was claimed; answers what of it may be handed over at once. */
  claimed(deliveries: readonly Delivery[]): Delivery[];

  /** For these there is no slot. */
  withoutSlots(deliveries: readonly Delivery[]): void;

  /**
   * Waits for the time from which limits let a call begin.
   *
   * @returns `undefined` if there is nothing to wait for
   */
  untilPermitted(checked: readonly CheckedDelivery[]): Promise<void> | undefined;

  /** Whether limits of its topic and its key still let a delivery begin. */
  mayBegin(delivery: Delivery, now: number): boolean;

  /** The outcome of a delivery is decided. */
  decided(delivery: Delivery, verdict: Verdict): void;

  /** Gives up what waits for a slot, and answers it. */
  giveUp(): readonly Delivery[];
}
