import type { Partition } from '../../store/partition.js';
import { DeliveryAbortedError, HandlerTimeoutError } from '../../errors/handling.errors.js';
import { within } from '../../time/deadline.js';
import type { SlotQueue } from '../admission/slot-queue.js';
import type { Delivery } from './delivery.js';
import type { CheckedDelivery } from './delivery-check.js';
import type { DeliveryReporter } from './delivery-reporter.js';
import { LeaseRenewer } from './lease-renewer.js';
import type { RunningDeliveries } from './running-deliveries.js';
import type { Settler } from './settler.js';
import type { TopicHandling } from './topic-handling.js';
import { RELEASED, type Verdict, failedAttempt, notCalled } from './verdict.js';

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

  /** Whether limits of its topic and its key, and its lease, still let a delivery begin. */
  mayBegin(delivery: Delivery, now: number): boolean;

  /** The outcome of a delivery is decided. */
  decided(delivery: Delivery, verdict: Verdict): void;

  /** Gives up what waits for a slot, and answers it. */
  giveUp(): readonly Delivery[];
}

export interface AtLeastOnceOptions {
  readonly handling: TopicHandling;
  readonly partition: Partition;
  readonly running: RunningDeliveries;
  readonly settler: Settler;
  /** Checks a delivery that is not to be handed over yet; `undefined`: it is decided already. */
  readonly check: (delivery: Delivery) => Promise<CheckedDelivery | undefined>;
  /** Decides what becomes of a delivery. */
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

  untilPermitted(checked: readonly CheckedDelivery[]): Promise<void> | undefined {
    return this.#handling.admission.untilPermitted(checked);
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

  /** A message never runs twice at once here: if it does still run, it waits, in no slot. Answers whether it does. */
  #keepWaiting(delivery: Delivery): boolean {
    const earlier = this.#running.runOf(delivery.storedId);
    if (!earlier) return false;
    // The lease of whatever came before may have ended unnoticed.
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
 * What becomes of a redelivery whose message still runs here in an earlier delivery. As soon as that run ends, or the
 * redelivery is aborted, it is given back, to be claimed anew when a slot is free. If its own `timeout` is over before, the
 * attempt has failed. Without a `timeout` the run may be meant to take long: the message is given back after a lease, for
 * whichever process owns its partition by then, and no attempt is spent. Never rejects.
 */
async function waitForEarlierRun(
  { context, handled }: TopicHandling,
  { delivery, message, backoff, timeout }: CheckedDelivery,
  earlier: Delivery,
): Promise<Verdict> {
  const { clock, broker } = context;
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
  /** Makes a call, which has its slot. */
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

  untilPermitted(checked: readonly CheckedDelivery[]): Promise<void> | undefined {
    return this.#handling.admission.untilRenewed(checked);
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
