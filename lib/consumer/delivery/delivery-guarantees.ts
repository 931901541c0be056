import type { Partition } from '../../store/partition.js';
import { DeliveryAbortedError, HandlerTimeoutError } from '../../errors/handling.errors.js';
import { within } from '../../time/deadline.js';
import type { SlotQueue } from '../admission/slot-queue.js';
import type { CheckedDelivery, Delivery } from './delivery.js';
import type { DeliveryReporter } from './delivery-reporter.js';
import { LeaseRenewer } from './lease-renewer.js';
import type { RunningDeliveries } from './running-deliveries.js';
import type { Settler } from './settler.js';
import type { TopicHandling } from './topic-handling.js';
import { RELEASED, type Verdict, failedAttempt, notCalled } from './verdict.js';

/** Effect of a topic's `delivery` option on the path of its messages through this process. */
export interface DeliveryGuarantee {
  /** `undefined` if there are no leases. */
  readonly renewer: LeaseRenewer | undefined;

  /** Takes claimed deliveries in; returns those that can be handed over at once. */
  claimed(deliveries: readonly Delivery[]): Delivery[];

  /** Handles deliveries for which there is no slot. */
  withoutSlots(deliveries: readonly Delivery[]): void;

  /**
   * Waits until limits let a call begin.
   *
   * @returns `undefined` if there is nothing to wait for
   */
  untilPermitted(deliveries: readonly Delivery[]): Promise<void> | undefined;

  /** Whether limits of its topic and its key, and its lease, still let a delivery begin. */
  mayBegin(delivery: Delivery, now: number): boolean;

  /** Handles the decided outcome of a delivery. */
  decided(delivery: Delivery, verdict: Verdict): void;

  /** Gives up the deliveries that wait for a slot and returns them. */
  giveUp(): readonly Delivery[];
}

export interface AtLeastOnceOptions {
  readonly handling: TopicHandling;
  readonly partition: Partition;
  readonly running: RunningDeliveries;
  readonly settler: Settler;
  /** Checks a delivery that is not to be handed over yet; resolves with `undefined` if it is decided already. */
  readonly check: (delivery: Delivery) => Promise<CheckedDelivery | undefined>;
  /** Applies a verdict to a delivery. */
  readonly decide: (delivery: Delivery, verdict: Verdict) => void;
}

/** A message stays in Redis until its outcome is confirmed. Meanwhile its delivery has a lease, and can be given back. */
export class AtLeastOnce implements DeliveryGuarantee {
  readonly renewer: LeaseRenewer;
  readonly #handling: TopicHandling;
  readonly #running: RunningDeliveries;
  readonly #settler: Settler;
  readonly #check: AtLeastOnceOptions['check'];
  readonly #decide: AtLeastOnceOptions['decide'];

  constructor({ handling, partition, running, settler, check, decide }: AtLeastOnceOptions) {
    this.#handling = handling;
    this.#running = running;
    this.#settler = settler;
    this.#check = check;
    this.#decide = decide;
    this.renewer = new LeaseRenewer(handling, partition, { running, settler });
  }

  claimed(deliveries: readonly Delivery[]): Delivery[] {
    const fresh = deliveries.filter((delivery) => !this.#keepWaiting(delivery));
    for (const delivery of fresh) this.#running.add(delivery);
    return fresh;
  }

  withoutSlots(deliveries: readonly Delivery[]): void {
    for (const delivery of deliveries) this.#giveBack(delivery, RELEASED);
  }

  untilPermitted(deliveries: readonly Delivery[]): Promise<void> | undefined {
    return this.#handling.admission.untilPermitted(deliveries);
  }

  mayBegin(delivery: Delivery, now: number): boolean {
    return this.#handling.admission.mayBegin(delivery, now);
  }

  decided(delivery: Delivery, verdict: Verdict): void {
    const { startedAt, grantedAt } = delivery;
    const isGranted = startedAt === undefined && grantedAt !== undefined;
    this.#settler.settle(delivery, isGranted ? notCalled(verdict, grantedAt) : verdict);
  }

  giveUp(): readonly Delivery[] {
    return [];
  }

  /** Lets a redelivery wait, without a slot, if its message still runs here: it never runs twice at once. Returns whether it waits. */
  #keepWaiting(delivery: Delivery): boolean {
    const earlier = this.#running.runOf(delivery.storedId);
    if (!earlier) return false;
    // The leases of the earlier deliveries may have ended unnoticed.
    for (const before of [earlier, this.#running.addWaiting(delivery)]) {
      before?.abort(new DeliveryAbortedError('LEASE_LOST'));
    }
    void this.#wait(delivery, earlier);
    return true;
  }

  /** Never rejects. */
  async #wait(delivery: Delivery, earlier: Delivery): Promise<void> {
    const checked = await this.#check(delivery);
    if (checked) this.#giveBack(delivery, await waitForEarlierRun(this.#handling, checked, earlier));
  }

  #giveBack(delivery: Delivery, verdict: Verdict): void {
    this.#decide(delivery, verdict);
    this.#running.remove(delivery);
  }
}

/**
 * Decides on a redelivery whose message still runs here in an earlier delivery. As soon as that run ends, or the redelivery is aborted, it
 * is given back, to be claimed anew when a slot is free. If its own `timeout` expires first, the attempt has failed. Without a `timeout`
 * the run may be meant to take long: the message is given back after a lease, for the process that owns its partition by then, and no
 * attempt is spent. Never rejects.
 */
async function waitForEarlierRun(
  { context, handled }: TopicHandling,
  delivery: CheckedDelivery,
  earlier: Delivery,
): Promise<Verdict> {
  const { clock, broker } = context;
  const { message, backoff, timeout } = delivery;
  const ended = earlier.call?.ended ?? Promise.resolve();
  try {
    await within(clock, timeout ?? handled.settings.lease, ended, { signal: delivery.signal });
    return RELEASED;
  } catch {
    if (delivery.aborted || timeout === undefined) return RELEASED;
    const error = new HandlerTimeoutError(timeout, earlier.attempt);
    return failedAttempt(error, message, backoff, { at: broker.now(), duration: 0 });
  }
}

export interface AtMostOnceOptions {
  readonly handling: TopicHandling;
  readonly running: RunningDeliveries;
  readonly reporter: DeliveryReporter;
  /** Makes a call, which has its slot already. */
  readonly begin: (deliveries: readonly Delivery[]) => void;
}

/** A message is gone once it is claimed: its delivery has no lease, is not settled, and cannot be given back. */
export class AtMostOnce implements DeliveryGuarantee {
  readonly renewer = undefined;
  readonly #handling: TopicHandling;
  readonly #running: RunningDeliveries;
  readonly #reporter: DeliveryReporter;
  readonly #slots: SlotQueue<Delivery>;

  constructor({ handling, running, reporter, begin }: AtMostOnceOptions) {
    this.#handling = handling;
    this.#running = running;
    this.#reporter = reporter;
    this.#slots = handling.admission.queue(begin);
  }

  claimed(deliveries: readonly Delivery[]): Delivery[] {
    for (const delivery of deliveries) this.#running.addGone(delivery);
    return [...deliveries];
  }

  withoutSlots(deliveries: readonly Delivery[]): void {
    this.#slots.add(deliveries);
  }

  untilPermitted(deliveries: readonly Delivery[]): Promise<void> | undefined {
    return this.#handling.admission.untilRenewed(deliveries);
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
