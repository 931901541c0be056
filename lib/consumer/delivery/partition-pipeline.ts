import type { Unsubscribe } from '../../store/driver.interface.js';
import type { Owner } from '../../store/fleet/owner.js';
import type { PartitionSignal } from '../../store/fleet/signals.js';
import type { Partition } from '../../store/partition.js';
import { DeliveryAbortedError } from '../../errors/handling.errors.js';
import type { PartitionProgress } from '../../fleet/progress.js';
import { type RetentionTrimmer, trimmerOfDeadLetters, trimmerOfFinished } from '../upkeep/retention-trimmer.js';
import { ScheduleRunner } from '../upkeep/schedule-runner.js';
import type { Delivery } from './delivery.js';
import { DeliveryReporter } from './delivery-reporter.js';
import { type ClaimTaker, PartitionClaimer } from './partition-claimer.js';
import { PartitionRun } from './partition-run.js';
import { type Effect, type SettleListener, Settler } from './settler.js';
import type { SucceededDeliveries } from './succeeded-deliveries.js';
import { TakenDeliveries } from './taken-deliveries.js';
import type { TopicHandling } from './topic-handling.js';
import type { Verdict } from './verdict.js';

/** Holder of a partition, as its pipeline sees it. */
export interface PartitionOwner {
  /**
   * Called when the partition no longer belongs to this process.
   *
   * @param owner owner that is stored instead; `undefined` if none is
   */
  lost(owner: Owner | undefined): void;
}

/**
 * The path of one partition's messages through this process, assembled from its parts: they are claimed as far as admitted, run, and
 * settled. No part knows those before it: each reports to the pipeline, which calls the next one. It claims while the partition is owned.
 */
export class PartitionPipeline implements ClaimTaker, SettleListener {
  readonly partition: Partition;
  readonly taken: TakenDeliveries;
  readonly run: PartitionRun;
  owner: Owner | undefined;
  readonly #handling: TopicHandling;
  readonly #settler: Settler;
  readonly #reporter: DeliveryReporter;
  readonly #deadLetters: RetentionTrimmer;
  /** Present only if finished messages are kept, or an earlier owner has left some. */
  #finished: RetentionTrimmer | undefined;
  /** Present only while the partition is owned. */
  #claimer: PartitionClaimer | undefined;
  #schedules: ScheduleRunner | undefined;
  #holder: PartitionOwner | undefined;
  #unsubscribe: Unsubscribe | undefined;

  constructor(handling: TopicHandling, partition: Partition) {
    this.#handling = handling;
    this.partition = partition;
    const { context, handled, topics } = handling;
    const settler = new Settler(context, partition, this);
    const taken = new TakenDeliveries(handling, partition, settler);
    const reporter = new DeliveryReporter(handling, topics.knownOrder(partition.topic));
    this.run = new PartitionRun({ handling, partition, settler, taken, reporter });
    this.#settler = settler;
    this.taken = taken;
    this.#reporter = reporter;
    this.#deadLetters = trimmerOfDeadLetters(context, partition, handled);
  }

  // ── owned or not ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** Claims messages as they fall due from now on. It does not wait for the signals to arrive: once they do, it looks. */
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

  /** Stops claiming; resolves once the messages of the last claim are under way. */
  async stop(): Promise<void> {
    const [claimer, schedules] = [this.#claimer, this.#schedules];
    this.#claimer = this.#schedules = this.owner = undefined;
    this.#deadLetters.disowned();
    this.#finished?.disowned();
    await Promise.all([claimer?.stop(), schedules?.stop()]);
    this.run.disowned();
  }

  /** Progress of the claims; `undefined` if another process owns the partition, or none. */
  get progress(): PartitionProgress | undefined {
    return this.#claimer?.progress;
  }

  /** Looks into the partition: more may be claimable than was signalled. */
  lookAgain(): void {
    this.#claimer?.wake(0);
  }

  /** Sends an unanswered claim again. */
  retryClaim(): void {
    this.#claimer?.retry();
  }

  // ── claimed ───────────────────────────────────────────────────────────────────────────────────────────────────────

  get settlesFirst(): boolean {
    return this.#settler.comesFirst;
  }

  get hasSucceeded(): boolean {
    return this.#settler.hasSucceeded;
  }

  /** Acks that others wait for, or a caller, do not wait for a claim. */
  get claimsIn(): number {
    const { destination, topics, admission } = this.#handling;
    const isWaitedFor =
      destination.settlesEach === true || topics.knownOrder(this.partition.topic) !== undefined || admission.isLimited;
    return isWaitedFor ? Infinity : (this.#claimer?.claimsIn ?? Infinity);
  }

  takeSucceeded(): SucceededDeliveries | undefined {
    return this.#settler.takeSucceeded();
  }

  take(deliveries: readonly Delivery[], slots: number): number {
    return this.run.take(deliveries, slots);
  }

  /** Starts trimming finished messages: they are kept here, or an earlier owner has left some. */
  keepsFinished(): void {
    const { context, handled } = this.#handling;
    this.#finished ??= trimmerOfFinished(context, this.partition, handled);
    void this.#finished.start();
  }

  lost(owner: Owner | undefined): void {
    this.#holder?.lost(owner);
  }

  // ── settled ───────────────────────────────────────────────────────────────────────────────────────────────────────

  get isFinishedKept(): boolean {
    return this.#handling.handled.settings.finished !== undefined;
  }

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
    if (isWaiting) this.run.watchLeases();
    // Nothing was claimed while they were a crowd.
    else this.#claimer?.wake(0);
  }

  caughtUp(): void {
    this.#claimer?.wake(0);
  }

  // ── on their way ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** Renews the leases now, since signals may have been lost. */
  renewLeases(): void {
    if (this.run.running.size + this.waitingForRoom > 0) this.run.renewLeases();
  }

  /** Whether nothing is under way any more. */
  get isIdle(): boolean {
    return !this.#claimer && this.run.running.size + this.taken.size + this.#settler.unsettled === 0;
  }

  /** Number of outcomes that are not confirmed yet. */
  get unsettled(): number {
    return this.#settler.unsettled;
  }

  /** Number of outcomes that wait until Redis has room. */
  get waitingForRoom(): number {
    return this.#settler.waiting.length;
  }

  /** Resolves once every outcome is confirmed or given up. */
  allSettled(): Promise<void> {
    return this.#settler.idle();
  }

  /** Stops claiming, renewing, settling and listening. */
  async close(): Promise<void> {
    const trimmers = [this.#deadLetters, this.#finished];
    await Promise.all([
      this.stop(),
      this.run.close(),
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
        (this.run.running.find(signal.storedId, signal.token) ?? this.taken.find(signal))?.abort(
          new DeliveryAbortedError('CANCELLED'),
        );
        break;
    }
  }

  /** Makes up for lost signals: that something is due, or that a message in flight was cancelled. */
  missedSignals(): void {
    this.#claimer?.wake(0);
    this.#schedules?.changed(0);
    this.renewLeases();
  }
}
