import type { Unsubscribe } from '../../store/broker.interface.js';
import type { Owner } from '../../store/fleet/owner.js';
import type { PartitionSignal } from '../../store/fleet/signals.js';
import type { Partition } from '../../store/partition.js';
import { DeliveryAbortedError } from '../../errors/handling.errors.js';
import type { PartitionProgress } from '../../fleet/progress.js';
import { Call, type Delivery } from './delivery.js';
import { type CheckResult, type CheckedDelivery, DeliveryCheck, isKnown } from './delivery-check.js';
import { AtLeastOnce, AtMostOnce, type DeliveryGuarantee } from './delivery-guarantees.js';
import { DeliveryReporter } from './delivery-reporter.js';
import { type ClaimTaker, PartitionClaimer } from './partition-claimer.js';
import { type RetentionTrimmer, trimmerOfDeadLetters, trimmerOfFinished } from '../upkeep/retention-trimmer.js';
import { RunningDeliveries } from './running-deliveries.js';
import { ScheduleRunner } from '../upkeep/schedule-runner.js';
import { type Effect, type SettleListener, Settler } from './settler.js';
import { TakenDeliveries } from './taken-deliveries.js';
import type { TopicHandling } from './topic-handling.js';
import { ACKED, RELEASED, type Verdict, failedAttempt } from './verdict.js';

/** Who holds a partition, as its run sees it. */
export interface PartitionOwner {
  /**
   * The partition turned out not to belong to this process any more.
   *
   * @param owner what is stored instead; `undefined` if nothing is
   */
  lost(owner: Owner | undefined): void;
}

/**
 * The way of one partition's messages through this process: claimed, checked, handed over, decided, settled. It claims
 * while the partition is owned; what was claimed goes its way to the end, whoever owns the partition by then.
 */
export class PartitionRun implements ClaimTaker, SettleListener {
  readonly partition: Partition;
  readonly running = new RunningDeliveries();
  readonly taken: TakenDeliveries;
  owner: Owner | undefined;
  readonly #handling: TopicHandling;
  readonly #check: DeliveryCheck;
  readonly #settler: Settler;
  readonly #reporter: DeliveryReporter;
  readonly #guarantee: DeliveryGuarantee;
  readonly #deadLetters: RetentionTrimmer;
  /** Only if finished messages are kept, or are left of another owner's. */
  #finished: RetentionTrimmer | undefined;
  /** Only while the partition is owned. */
  #claimer: PartitionClaimer | undefined;
  #schedules: ScheduleRunner | undefined;
  #holder: PartitionOwner | undefined;
  #unsubscribe: Unsubscribe | undefined;
  /** Deliveries whose outcome is not decided. */
  #undecided = 0;
  readonly #onDecided: (() => void)[] = [];

  constructor(handling: TopicHandling, partition: Partition) {
    this.#handling = handling;
    this.partition = partition;
    const { context, handled, topics } = handling;
    this.#check = new DeliveryCheck(context, handled, partition);
    this.#settler = new Settler(context, partition, this);
    this.taken = new TakenDeliveries(handling, partition, this.#settler);
    this.#reporter = new DeliveryReporter(handling, topics.knownOrder(partition.topic));
    this.#guarantee = handled.settings.delivery === 'at-most-once' ? this.#atMostOnce() : this.#atLeastOnce();
    this.#deadLetters = trimmerOfDeadLetters(context, partition, handled);
  }

  #atLeastOnce(): AtLeastOnce {
    return new AtLeastOnce({
      handling: this.#handling,
      partition: this.partition,
      running: this.running,
      settler: this.#settler,
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

  // ── owned or not ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** Claims what falls due from now on. Nobody waits for the signals to come: once they do, it looks. */
  start(holder: PartitionOwner, owner: Owner): void {
    const { context, topics } = this.#handling;
    this.#unsubscribe ??= context.broker.watchPartition(
      this.partition,
      (signal) => this.#onSignal(signal),
      () => this.missedSignals(),
    );
    this.#claimer = new PartitionClaimer(this.#handling, this, owner);
    this.#holder = holder;
    this.owner = owner;
    this.#claimer.start();
    this.#schedules = new ScheduleRunner({
      context,
      partition: this.partition,
      order: topics.knownOrder(this.partition.topic),
      owner,
      onLost: (stored) => this.lost(stored),
    });
    this.#schedules.start();
    void this.#deadLetters.start();
  }

  /** Claims nothing more; resolves once what the last claim has brought is on its way. */
  async stop(): Promise<void> {
    const [claimer, schedules] = [this.#claimer, this.#schedules];
    this.#claimer = this.#schedules = this.owner = undefined;
    this.#deadLetters.disowned();
    this.#finished?.disowned();
    await Promise.all([claimer?.stop(), schedules?.stop()]);
    // Another process need not wait.
    for (const delivery of this.running.waiting) delivery.abort(new DeliveryAbortedError('LEASE_LOST'));
  }

  lost(owner: Owner | undefined): void {
    this.#holder?.lost(owner);
  }

  get isFinishedKept(): boolean {
    return this.#handling.handled.settings.finished !== undefined;
  }

  /** Finished messages are kept here, or some are left of an owner that has kept them. */
  keepsFinished(): void {
    const { context, handled } = this.#handling;
    this.#finished ??= trimmerOfFinished(context, this.partition, handled);
    void this.#finished.start();
  }

  /** `undefined` if another process owns the partition, or none. */
  get progress(): PartitionProgress | undefined {
    return this.#claimer?.progress;
  }

  /** More may be claimed than what was told of. */
  lookAgain(): void {
    this.#claimer?.wake(0);
  }

  /** Sends a claim that is not answered again. */
  retryClaim(): void {
    this.#claimer?.retry();
  }

  // ── the way of a delivery ─────────────────────────────────────────────────────────────────────────────────────────

  /** Claimed: takes the deliveries, in calls of at most a batch, one a slot. */
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

  /** Never rejects. */
  async #deliver({ deliveries }: Call): Promise<void> {
    // Most checks have their result at once, and most calls need not wait for any.
    const checks = deliveries.map((delivery) => this.#check.check(delivery));
    const known = checks.every(isKnown) ? checks : await Promise.all(checks.map(async (check) => check));
    const sifted = this.#sift(deliveries, known);
    const permitted = this.#guarantee.untilPermitted(sifted);
    // Mostly nothing has to be waited for.
    if (permitted) await permitted;
    const checked = this.#inTime(sifted);
    if (checked.length === 0) return;

    const { destination, admission } = this.#handling;
    admission.begun();
    this.#reporter.handed(checked);
    const { results, ended } = await destination.hand(checked);
    checked.forEach((one, i) => {
      // It may have been given back meanwhile; then no backoff function must be asked.
      if (one.delivery.settled) return;
      if (results === 'taken') this.#letGo(one.delivery);
      else this.#settle(one.delivery, results === 'left' ? RELEASED : this.#verdictOf(one, results?.[i]));
    });

    if (ended) await this.#abandon(checked, ended);
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

  /** Settles what the check has decided, and what was given back while it took its time; answers what is left. */
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

  /** Gives back what a limit of its topic or its key does not let begin any more, or what nobody takes. */
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
    return failedAttempt(result.reason, message, backoff, { at: broker.now(this.partition), duration });
  }

  /** The first verdict on a delivery counts. */
  #settle(delivery: Delivery, verdict: Verdict): void {
    if (delivery.settled) return;
    delivery.settle(this.#handling.context.clock.now());
    this.#handling.admission.decided(delivery, verdict.outcome);
    // Before the outcome, so that the next claim is sent first, and what it brings is handled while Redis settles.
    delivery.call?.settled();
    this.#guarantee.decided(delivery, verdict);
    this.#decided();
  }

  /** Whoever has taken it decides about it. */
  #letGo(delivery: Delivery): void {
    this.taken.add(delivery);
    delivery.call?.settled();
    this.#decided();
  }

  #decided(): void {
    if (--this.#undecided === 0) for (const resolve of this.#onDecided.splice(0)) resolve();
  }

  /** Settled: Redis has confirmed it. */
  settled(delivery: Delivery, verdict: Verdict, effect: Effect): void {
    this.#reporter.report(delivery, verdict, effect);
    this.taken.answered(delivery, effect);
    if (verdict.outcome.kind === 'ack' || effect === 'cancelled') this.#finished?.expectMore();
    if (effect !== 'settled' || verdict.outcome.kind !== 'dead') return;
    this.#deadLetters.trim();
    this.#handling.notifier.notify(delivery, verdict.outcome, this.#handling.handled.settings.serializer);
  }

  stale(delivery: Delivery): void {
    this.#reporter.reportStale(delivery, this.taken.answered(delivery, 'stale'));
  }

  done(delivery: Delivery): void {
    this.#handling.admission.ended(delivery);
    this.taken.answered(delivery);
  }

  waits(isWaiting: boolean): void {
    this.#handling.log.sawFull(this.partition.index, isWaiting);
    // Their leases were watched while their handlers ran.
    if (isWaiting) this.#guarantee.renewer?.start(Infinity);
    // While they were a crowd, nothing was claimed.
    else this.#claimer?.wake(0);
  }

  caughtUp(): void {
    this.#claimer?.wake(0);
  }

  get settlesFirst(): boolean {
    return this.#settler.comesFirst;
  }

  // ── the deliveries that are on their way ──────────────────────────────────────────────────────────────────────────

  /** Renews the leases now, since signals may have been lost. */
  renewLeases(): void {
    if (this.running.size + this.waitingForRoom > 0) void this.#guarantee.renewer?.renew();
  }

  /**
   * Gives back what still runs: the signals abort, and the messages are at once free for another process. What is delivered at most once is
   * lost, also if it still waits for its call.
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

  /** Whether nothing is on its way any more. */
  get isIdle(): boolean {
    return !this.#claimer && this.running.size + this.taken.size + this.#settler.unsettled === 0;
  }

  /** Outcomes that are not confirmed yet. */
  get unsettled(): number {
    return this.#settler.unsettled;
  }

  /** Outcomes that wait until Redis has room. */
  get waitingForRoom(): number {
    return this.#settler.waiting.length;
  }

  /** Resolves once every outcome is confirmed or given up. */
  async allSettled(): Promise<void> {
    await this.#settler.idle();
  }

  /** Ends everything: claiming, renewing, settling and listening. */
  async close(): Promise<void> {
    const trimmers = [this.#deadLetters, this.#finished];
    await Promise.all([
      this.stop(),
      this.#guarantee.renewer?.stop(),
      this.#settler.stop(),
      ...trimmers.map((trimmer) => trimmer?.stop()),
    ]);
    await this.#unsubscribe?.();
  }

  #onSignal(signal: PartitionSignal): void {
    switch (signal.kind) {
      case 'due':
        this.#claimer?.wake(signal.at);
        break;
      case 'schedules':
        this.#schedules?.changed(signal.at);
        break;
      case 'cancelled':
        (this.running.find(signal.storedId, signal.token) ?? this.taken.find(signal))?.abort(
          new DeliveryAbortedError('CANCELLED'),
        );
        break;
    }
  }

  /** What was signalled before is lost: that something is due, or that a message in flight was cancelled. */
  missedSignals(): void {
    this.#claimer?.wake(0);
    this.#schedules?.changed(0);
    this.renewLeases();
  }
}
