import type { Partition } from '../../store/partition.js';
import { DeliveryAbortedError } from '../../errors/handling.errors.js';
import { Call, type CheckedDelivery, type Delivery } from './delivery.js';
import { type CheckResult, DeliveryCheck } from './delivery-check.js';
import { AtLeastOnce, AtMostOnce, type DeliveryGuarantee } from './delivery-guarantees.js';
import type { DeliveryReporter } from './delivery-reporter.js';
import { RunningDeliveries } from './running-deliveries.js';
import type { Settler } from './settler.js';
import type { TakenDeliveries } from './taken-deliveries.js';
import type { Handover, TopicHandling } from './topic-handling.js';
import { ACKED, RELEASED, type Verdict, failedAttempt } from './verdict.js';

export interface PartitionRunOptions {
  readonly handling: TopicHandling;
  readonly partition: Partition;
  /** Receives the decided outcomes, except those of at-most-once deliveries. */
  readonly settler: Settler;
  /** Receives the deliveries that a receiver has taken and will decide about. */
  readonly taken: TakenDeliveries;
  readonly reporter: DeliveryReporter;
}

/** Shared by all calls that hand nothing over. */
const NOTHING = Promise.resolve();

/**
 * The path of deliveries from their claim until their outcome is decided: checked, handed over, decided. Claimed deliveries go all the way,
 * whichever process owns the partition by then.
 */
export class PartitionRun {
  readonly running = new RunningDeliveries();
  readonly #handling: TopicHandling;
  readonly #check: DeliveryCheck;
  readonly #taken: TakenDeliveries;
  readonly #reporter: DeliveryReporter;
  readonly #guarantee: DeliveryGuarantee;
  /** Number of deliveries whose outcome is not decided. */
  #undecided = 0;
  readonly #onDecided: (() => void)[] = [];

  constructor(options: PartitionRunOptions) {
    const { handling, partition, taken, reporter } = options;
    this.#handling = handling;
    this.#taken = taken;
    this.#reporter = reporter;
    this.#check = new DeliveryCheck(handling.context, handling.handled, partition);
    const isOnce = handling.handled.settings.delivery === 'at-most-once';
    this.#guarantee = isOnce ? this.#atMostOnce() : this.#atLeastOnce(options);
  }

  #atLeastOnce({ handling, partition, settler }: PartitionRunOptions): AtLeastOnce {
    return new AtLeastOnce({
      handling,
      partition,
      settler,
      running: this.running,
      check: async (delivery) => {
        this.#checked(delivery, await this.#check.check(delivery));
        return this.#undecidedOf([delivery])[0];
      },
      decide: (delivery, verdict) => this.#settle(delivery, verdict),
    });
  }

  #atMostOnce(): AtMostOnce {
    return new AtMostOnce({
      handling: this.#handling,
      running: this.running,
      reporter: this.#reporter,
      begin: (deliveries) => this.#begin(deliveries),
    });
  }

  /** Takes claimed deliveries in calls of at most a batch each, one call per slot. */
  take(deliveries: readonly Delivery[], slots: number): number {
    const { handler, leaseEnds, admission } = this.#handling;
    leaseEnds.check();
    this.#undecided += deliveries.length;
    admission.took(deliveries);
    const [first] = deliveries;
    if (!first) return 0;
    const fresh = this.#guarantee.claimed(deliveries);
    const size = handler.batch ?? 1;
    this.#guarantee.withoutSlots(fresh.splice(slots * size));
    for (let begin = 0; begin < fresh.length; begin += size) this.#begin(fresh.slice(begin, begin + size));
    this.#guarantee.renewer?.start(first.endsAt);
    return Math.ceil(fresh.length / size);
  }

  #begin(deliveries: readonly Delivery[]): void {
    const call = new Call(deliveries, this.#handling.admission);
    for (const delivery of deliveries) delivery.call = call;
    call.ended = this.#deliver(deliveries);
  }

  /** Never rejects. Most calls wait for nothing but their handler, and cost no promise besides. */
  #deliver(deliveries: readonly Delivery[]): Promise<void> {
    let checks: Promise<void>[] | undefined;
    for (const delivery of deliveries) {
      const check = this.#check.check(delivery);
      if (check instanceof Promise) (checks ??= []).push(check.then((result) => this.#checked(delivery, result)));
      else this.#checked(delivery, check);
    }
    return checks ? Promise.all(checks).then(() => this.#whenPermitted(deliveries)) : this.#whenPermitted(deliveries);
  }

  /** Settles a delivery if the check has decided about it. */
  #checked(delivery: Delivery, result: CheckResult): void {
    if (result) this.#settle(delivery, result);
  }

  #whenPermitted(deliveries: readonly Delivery[]): Promise<void> {
    const checked = this.#undecidedOf(deliveries);
    const permitted = this.#guarantee.untilPermitted(checked);
    return permitted ? permitted.then(() => this.#handOver(checked)) : this.#handOver(checked);
  }

  #handOver(checked: readonly CheckedDelivery[]): Promise<void> {
    const ready = this.#inTime(checked);
    if (ready.length === 0) return NOTHING;
    const { destination, admission } = this.#handling;
    admission.begun();
    this.#reporter.handed(ready);
    return destination.hand(ready, (handover) => this.#handed(ready, handover));
  }

  /** Decides the deliveries that were handed over. Returns a promise if work on them has not ended. */
  #handed(deliveries: readonly CheckedDelivery[], { results, ended }: Handover): Promise<void> | undefined {
    deliveries.forEach((delivery, i) => {
      // It may have been given back meanwhile; then no backoff function must be called.
      if (delivery.settled) return;
      if (results === 'taken') this.#letGo(delivery);
      else this.#settle(delivery, results === 'left' ? RELEASED : this.#verdictOf(delivery, results?.[i]));
    });
    if (ended) return this.#abandon(deliveries, ended).then(() => this.#leave(deliveries));
    this.#leave(deliveries);
    return undefined;
  }

  #leave(deliveries: readonly Delivery[]): void {
    for (const delivery of deliveries) this.running.remove(delivery);
  }

  async #abandon(deliveries: readonly Delivery[], ended: Promise<unknown>): Promise<void> {
    const { abandoned, handler } = this.#handling;
    await abandoned.follow(deliveries, handler.name, ended);
  }

  /** Drops the deliveries that are decided, by the check or since they were given back meanwhile, and returns the rest. */
  #undecidedOf(deliveries: readonly Delivery[]): readonly CheckedDelivery[] {
    return this.#without(deliveries.filter(isSettled), deliveries) as readonly CheckedDelivery[];
  }

  /** Gives back deliveries that a limit of their topic or key no longer lets begin, or that no receiver takes; returns the rest. */
  #inTime(checked: readonly CheckedDelivery[]): readonly CheckedDelivery[] {
    const { context, destination, admission } = this.#handling;
    const now = context.clock.now();
    const late: Delivery[] = [];
    for (const delivery of checked) {
      const mayBegin = !delivery.settled && destination.isOpen && this.#guarantee.mayBegin(delivery, now);
      if (!mayBegin) late.push(delivery);
    }
    for (const delivery of late) {
      admission.turnedAway(delivery, now);
      this.#settle(delivery, RELEASED);
    }
    return this.#without(late, checked);
  }

  /** Returns the deliveries that still run here; mostly nothing was dropped, and it is the same list. */
  #without<T extends Delivery>(dropped: readonly Delivery[], deliveries: readonly T[]): readonly T[] {
    if (dropped.length === 0) return deliveries;
    this.#leave(dropped);
    return deliveries.filter((delivery) => !dropped.includes(delivery));
  }

  #verdictOf(delivery: CheckedDelivery, result: PromiseSettledResult<unknown> | undefined): Verdict {
    if (result?.status !== 'rejected') return ACKED;
    const { broker, clock } = this.#handling.context;
    const { message, backoff } = delivery;
    const duration = delivery.startedAt === undefined ? 0 : clock.now() - delivery.startedAt;
    return failedAttempt(result.reason, message, backoff, { at: broker.now(delivery.partition), duration });
  }

  /** Settles a delivery; the first verdict counts. */
  #settle(delivery: Delivery, verdict: Verdict): void {
    if (delivery.settled) return;
    delivery.settle(this.#handling.context.clock.now());
    this.#handling.admission.decided(delivery, verdict.outcome);
    // Before the outcome, so that the next claim is sent first and its messages are handled while Redis settles.
    delivery.call?.settled();
    this.#guarantee.decided(delivery, verdict);
    this.#decided();
  }

  /** The receiver that has taken it decides about it. */
  #letGo(delivery: Delivery): void {
    this.#taken.add(delivery);
    delivery.call?.settled();
    this.#decided();
  }

  #decided(): void {
    if (--this.#undecided === 0) for (const resolve of this.#onDecided.splice(0)) resolve();
  }

  // ── the deliveries that are on their way ──────────────────────────────────────────────────────────────────────────

  /** Renews the leases now, since signals may have been lost. */
  renewLeases(): void {
    void this.#guarantee.renewer?.renew();
  }

  /** Watches the leases of deliveries whose outcomes wait: they were watched while their handlers ran. */
  watchLeases(): void {
    this.#guarantee.renewer?.start(Infinity);
  }

  /** Aborts the deliveries that wait here for an earlier run: the next owner of the partition need not wait for them. */
  disowned(): void {
    for (const delivery of this.running.waiting) delivery.abort(new DeliveryAbortedError('LEASE_LOST'));
  }

  /**
   * Gives back the deliveries that still run: their signals abort, and the messages are free for another process at once. An at-most-once
   * delivery is lost, even if it still waits for its call.
   */
  releaseAll(): void {
    const uncalled = this.#guarantee.giveUp();
    for (const delivery of this.running) {
      delivery.abort(new DeliveryAbortedError('SHUTDOWN'));
      this.#settle(delivery, RELEASED);
    }
    for (const delivery of uncalled) this.running.remove(delivery);
  }

  /** Resolves once no delivery is undecided. */
  async decided(): Promise<void> {
    if (this.#undecided > 0) await new Promise<void>((resolve) => this.#onDecided.push(resolve));
  }

  /** Stops renewing leases. */
  close(): Promise<void> | undefined {
    return this.#guarantee.renewer?.stop();
  }
}

function isSettled({ settled }: Delivery): boolean {
  return settled;
}
