import type { Partition } from '../../store/partition.js';
import { DeliveryAbortedError } from '../../errors/handling.errors.js';
import { Call, type Delivery } from './delivery.js';
import { type CheckResult, type CheckedDelivery, DeliveryCheck, isKnown } from './delivery-check.js';
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
      check: async (delivery) => this.#sift([delivery], [await this.#check.check(delivery)])[0],
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
    call.ended = this.#deliver(call);
  }

  /** Never rejects. Most calls wait for nothing but their handler, and cost no promise besides. */
  #deliver({ deliveries }: Call): Promise<void> {
    const checks = deliveries.map((delivery) => this.#check.check(delivery));
    if (checks.every(isKnown)) return this.#whenPermitted(this.#sift(deliveries, checks));
    const known = Promise.all(checks.map(async (check) => check));
    return known.then((results) => this.#whenPermitted(this.#sift(deliveries, results)));
  }

  #whenPermitted(sifted: CheckedDelivery[]): Promise<void> {
    const permitted = this.#guarantee.untilPermitted(sifted);
    return permitted ? permitted.then(() => this.#handOver(sifted)) : this.#handOver(sifted);
  }

  #handOver(sifted: CheckedDelivery[]): Promise<void> {
    const checked = this.#inTime(sifted);
    if (checked.length === 0) return NOTHING;
    const { destination, admission } = this.#handling;
    admission.begun();
    this.#reporter.handed(checked);
    return destination.hand(checked).then((handover) => this.#handed(checked, handover));
  }

  /** Decides the deliveries that were handed over. Returns a promise if work on them has not ended. */
  #handed(checked: readonly CheckedDelivery[], { results, ended }: Handover): Promise<void> | undefined {
    checked.forEach((one, i) => {
      // It may have been given back meanwhile; then no backoff function must be called.
      if (one.delivery.settled) return;
      if (results === 'taken') this.#letGo(one.delivery);
      else this.#settle(one.delivery, results === 'left' ? RELEASED : this.#verdictOf(one, results?.[i]));
    });
    if (ended) return this.#abandon(checked, ended).then(() => this.#leave(checked));
    this.#leave(checked);
    return undefined;
  }

  #leave(checked: readonly CheckedDelivery[]): void {
    for (const { delivery } of checked) this.running.remove(delivery);
  }

  async #abandon(checked: readonly CheckedDelivery[], ended: Promise<unknown>): Promise<void> {
    const { abandoned, handler } = this.#handling;
    await abandoned.follow(
      checked.map(({ delivery }) => delivery),
      handler.name,
      ended,
    );
  }

  /** Settles the deliveries that the check has decided, drops those given back meanwhile, and returns the rest. */
  #sift(deliveries: readonly Delivery[], results: readonly CheckResult[]): CheckedDelivery[] {
    const checked: CheckedDelivery[] = [];
    deliveries.forEach((delivery, i) => {
      const result = results[i] as CheckResult;
      if ('outcome' in result) this.#settle(delivery, result);
      if (delivery.settled) this.running.remove(delivery);
      else checked.push(result as CheckedDelivery);
    });
    return checked;
  }

  /** Gives back deliveries that a limit of their topic or key no longer lets begin, or that no receiver takes; returns the rest. */
  #inTime(checked: CheckedDelivery[]): CheckedDelivery[] {
    const { context, destination, admission } = this.#handling;
    const now = context.clock.now();
    const mayBegin = ({ delivery }: CheckedDelivery): boolean =>
      destination.isOpen && this.#guarantee.mayBegin(delivery, now);
    if (checked.every((one) => mayBegin(one) && !one.delivery.settled)) return checked;
    return checked.filter((one) => {
      if (mayBegin(one) && !one.delivery.settled) return true;
      admission.turnedAway(one.delivery, now);
      this.#settle(one.delivery, RELEASED);
      this.running.remove(one.delivery);
      return false;
    });
  }

  #verdictOf(
    { delivery, message, backoff }: CheckedDelivery,
    result: PromiseSettledResult<unknown> | undefined,
  ): Verdict {
    if (result?.status !== 'rejected') return ACKED;
    const { broker, clock } = this.#handling.context;
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
