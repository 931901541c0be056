import type { Partition, PartitionSignal, Unsubscribe } from '../broker/broker.interface.js';
import { DeliveryAbortedError } from '../errors/handling.errors.js';
import type { PartitionProgress } from '../topics/topic-progress.js';
import { DeadLetterTrimmer } from './dead-letter-trimmer.js';
import { Call, type Delivery } from './delivery.js';
import { type CheckResult, type CheckedDelivery, DeliveryCheck } from './delivery-check.js';
import { DeliveryReporter } from './delivery-reporter.js';
import { type Destination, HandlerDestination } from './handler-destination.js';
import { LeaseRenewer } from './lease-renewer.js';
import { type ClaimTaker, PartitionClaimer } from './partition-claimer.js';
import { type PlannedCall, RunningDeliveries } from './running-deliveries.js';
import { type Effect, type SettleListener, Settler } from './settler.js';
import type { TopicHandling } from './topic-handling.js';
import { ACKED, RELEASED, type Verdict, failedAttempt } from './verdict.js';

/** Who holds a partition, as its run sees it. */
export interface PartitionOwner {
  /** The partition turned out to belong to another process. */
  lost(): void;
}

/**
 * The way of one partition's messages through this process: claimed, checked, handed over, decided, settled. It claims
 * while the partition is owned; what was claimed goes its way to the end, whoever owns the partition by then.
 */
export class PartitionRun implements ClaimTaker, SettleListener {
  readonly partition: Partition;
  readonly #handling: TopicHandling;
  readonly #running = new RunningDeliveries();
  readonly #check: DeliveryCheck;
  readonly #destination: Destination;
  readonly #settler: Settler;
  readonly #reporter: DeliveryReporter;
  readonly #renewer: LeaseRenewer;
  /** What works only while the partition is owned. */
  #owned: { readonly claimer: PartitionClaimer; readonly trimmer: DeadLetterTrimmer } | undefined;
  #owner: PartitionOwner | undefined;
  #unsubscribe: Unsubscribe | undefined;

  constructor(handling: TopicHandling, partition: Partition) {
    this.#handling = handling;
    this.partition = partition;
    const { context, handler } = handling;
    this.#check = new DeliveryCheck(handling, partition);
    this.#destination = new HandlerDestination(context, handler);
    this.#settler = new Settler(context, partition, this);
    this.#reporter = new DeliveryReporter(context, handler.name);
    this.#renewer = new LeaseRenewer(handling, partition, this.#running);
  }

  // ── owned or not ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** Listens to the signals of the partition. Nobody waits for it: an owner looks now and then anyway. */
  listen(): void {
    this.#unsubscribe ??= this.#handling.context.broker.watchPartition(
      this.partition,
      (signal) => this.#onSignal(signal),
      () => this.#onListening(),
    );
  }

  /**
   * Claims what falls due from now on.
   *
   * @param token the partition's highest token when it was acquired
   */
  start(owner: PartitionOwner, token: number): void {
    const { context, handled } = this.#handling;
    const claimer = new PartitionClaimer(this.#handling, this, token);
    const trimmer = new DeadLetterTrimmer(context, this.partition, handled.settings.deadLetter);
    this.#owned = { claimer, trimmer };
    this.#owner = owner;
    claimer.start();
    void trimmer.start();
  }

  /** Claims nothing more; resolves once what the last claim has brought is on its way. */
  async stop(): Promise<void> {
    const owned = this.#owned;
    this.#owned = undefined;
    await Promise.all([owned?.claimer.stop(), owned?.trimmer.stop()]);
  }

  lost(): void {
    this.#owner?.lost();
  }

  /** `undefined` if another process owns the partition, or none. */
  get progress(): PartitionProgress | undefined {
    return this.#owned?.claimer.progress;
  }

  /** See {@link PartitionClaimer.notice}. */
  notice(nextDueAt: number, grace: number): boolean {
    return this.#owned?.claimer.notice(nextDueAt, grace) ?? false;
  }

  /** Sends a claim that is not answered again. */
  retryClaim(): void {
    this.#owned?.claimer.retry();
  }

  // ── the way of a delivery ─────────────────────────────────────────────────────────────────────────────────────────

  /** Claimed: takes the deliveries, in calls of at most a batch, one a slot. */
  take(deliveries: readonly Delivery[], slots: number): number {
    const { calls, excess } = this.#running.plan(deliveries, { size: this.#handling.handler.batch ?? 1, slots });
    for (const call of calls) this.#begin(call);
    for (const delivery of excess) this.#settle(delivery, RELEASED);
    if (deliveries.length > 0) this.#renewer.start();
    return calls.length;
  }

  #begin({ deliveries, after }: PlannedCall): void {
    const call = new Call(deliveries, this.#handling.slots);
    for (const delivery of deliveries) {
      delivery.call = call;
      // Its lease ended unnoticed, such as while the event loop was blocked. A message never runs twice at once here.
      if (after) this.#running.get(delivery.storedId)?.abort(new DeliveryAbortedError('LEASE_LOST'));
      this.#running.add(delivery);
    }
    call.ended = this.#deliver(call, after);
  }

  /** Never rejects. */
  async #deliver({ deliveries }: Call, earlierRun: Promise<void> | undefined): Promise<void> {
    if (earlierRun) await earlierRun;

    // Most checks have their result at once, and most calls need not wait for any.
    const checks = deliveries.map((delivery) => this.#check.check(delivery));
    const checked = this.#sift(deliveries, checks.every(isKnown) ? checks : await allOf(checks));
    if (checked.length === 0) return;

    const { results, ended } = this.#destination.hand(checked);
    const decided = await results;
    checked.forEach((one, i) => {
      // It may have been given back meanwhile; then no backoff function must be asked.
      if (!one.delivery.settled) this.#settle(one.delivery, this.#verdictOf(one, decided?.[i]));
    });

    if (ended) await ended;
    for (const { delivery } of checked) this.#running.remove(delivery);
  }

  /** Settles what the check has decided, and what was given back while it took its time; answers what is left. */
  #sift(deliveries: readonly Delivery[], results: readonly CheckResult[]): CheckedDelivery[] {
    const checked: CheckedDelivery[] = [];
    deliveries.forEach((delivery, i) => {
      const result = results[i] as CheckResult;
      if ('outcome' in result) this.#settle(delivery, result);
      if (delivery.settled) this.#running.remove(delivery);
      else checked.push(result as CheckedDelivery);
    });
    return checked;
  }

  #verdictOf(
    { delivery, message, backoff }: CheckedDelivery,
    result: PromiseSettledResult<unknown> | undefined,
  ): Verdict {
    if (result?.status !== 'rejected') return ACKED;
    const { broker, clock } = this.#handling.context;
    const duration = delivery.startedAt === undefined ? 0 : clock.now() - delivery.startedAt;
    return failedAttempt(result.reason, message, backoff, { at: broker.now(), duration });
  }

  /** The first verdict on a delivery counts. */
  #settle(delivery: Delivery, verdict: Verdict): void {
    if (delivery.settled) return;
    delivery.settle(this.#handling.context.clock.now());
    this.#settler.settle(delivery, verdict);
    delivery.call?.settled();
  }

  /** Settled: Redis has confirmed it. */
  settled(delivery: Delivery, verdict: Verdict, effect: Effect): void {
    this.#reporter.report(delivery, verdict, effect);
    if (effect !== 'settled' || verdict.outcome.kind !== 'dead') return;
    this.#owned?.trimmer.trim();
    this.#handling.notifier.notify(delivery, verdict.outcome, this.#handling.handled.settings.serializer);
  }

  // ── the deliveries that are on their way ──────────────────────────────────────────────────────────────────────────

  get running(): Iterable<Delivery> & { readonly size: number } {
    return this.#running;
  }

  /** Renews the leases now, since signals may have been lost. */
  renewLeases(): void {
    if (this.#running.size > 0) void this.#renewer.renew();
  }

  /** Gives back what still runs: the signals abort, and the messages are at once free for another process. */
  releaseAll(): void {
    for (const delivery of this.#running) {
      delivery.abort(new DeliveryAbortedError('SHUTDOWN'));
      this.#settle(delivery, RELEASED);
    }
  }

  /** Outcomes that are not confirmed yet. */
  get unsettled(): number {
    return this.#settler.unsettled;
  }

  /** Resolves once every outcome is confirmed or given up. */
  async allSettled(): Promise<void> {
    await this.#settler.idle();
  }

  /** Ends everything: claiming, renewing, settling and listening. */
  async close(): Promise<void> {
    await Promise.all([this.stop(), this.#renewer.stop(), this.#settler.stop()]);
    await this.#unsubscribe?.();
  }

  #onSignal(signal: PartitionSignal): void {
    if (signal.kind === 'due') {
      this.#owned?.claimer.wake(signal.at);
      return;
    }
    const delivery = this.#running.get(signal.storedId);
    if (delivery?.token === signal.token) delivery.abort(new DeliveryAbortedError('CANCELLED'));
  }

  /** What was signalled before is lost: that something is due, or that a message in flight was cancelled. */
  #onListening(): void {
    this.#owned?.claimer.wake(0);
    this.renewLeases();
  }
}

function allOf<T>(values: readonly (T | Promise<T>)[]): Promise<T[]> {
  return Promise.all(values.map(async (value) => value));
}

function isKnown(check: CheckResult | Promise<CheckResult>): check is CheckResult {
  return !(check instanceof Promise);
}
