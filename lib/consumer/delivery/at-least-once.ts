import type { Partition } from '../../store/partition.js';
import { DeliveryAbortedError } from '../../errors/handling.errors.js';
import { whenPermitted } from '../admission/begin-estimate.js';
import type { Delivery } from './delivery.js';
import type { CheckedDelivery } from './delivery-check.js';
import type { DeliveryGuarantee } from './delivery-guarantee.interface.js';
import { waitForEarlierRun } from './earlier-run.js';
import { LeaseRenewer } from './lease-renewer.js';
import type { RunningDeliveries } from './running-deliveries.js';
import type { Settler } from './settler.js';
import type { TopicHandling } from './topic-handling.js';
import { RELEASED, type Verdict, notCalled } from './verdict.js';

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
    return whenPermitted(this.#handling.context.clock, checked);
  }

  /** While it waited for its time, its lease may have ended: by now another process may handle the message. */
  mayBegin({ mustBeginBy, endsAt, aborted }: Delivery, now: number): boolean {
    return now <= mustBeginBy && now < endsAt && !aborted && !this.#handling.hold.holds;
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
