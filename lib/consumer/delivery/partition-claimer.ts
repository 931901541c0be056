import { type ClaimRequest, type ClaimResult, SHARES_FROM } from '../../store/deliveries/claim.js';
import { NO_TOKEN } from '../../store/deliveries/receipt.js';
import type { Owner } from '../../store/fleet/owner.js';
import type { Partition } from '../../store/partition.js';
import { isRefused } from '../../store/calls/split-refused.js';
import { BrokerUnavailableError } from '../../errors/operation.errors.js';
import { SerializationError } from '../../errors/publishing.errors.js';
import { toFailure } from '../../messages/failure.js';
import { repeatUntilServed } from '../../store/calls/serve.js';
import type { Startable } from '../../time/startable.interface.js';
import type { PartitionProgress } from '../../fleet/progress.js';
import type { ClaimAdmission, Claimed, Claims } from '../admission/claim-admission.js';
import { Delivery } from './delivery.js';
import { DueTimer, localClock } from '../../time/due-timer.js';
import type { SettleListener } from './settler.js';
import type { SucceededDeliveries } from './succeeded-deliveries.js';
import type { TopicHandling } from './topic-handling.js';

type NotOwner = Extract<ClaimResult, { status: 'not-owner' }>;

interface AnsweredClaim {
  readonly result: ClaimResult;
  /** Number of messages that it asked for. */
  readonly max: number;
  /** Time when it was sent, in epoch milliseconds on the local clock. */
  readonly sentAt: number;
  /** Lease that it asked for, in milliseconds; 0 means at most once. */
  readonly lease: number;
}

/** Time for which an unanswered claim keeps its slots, in milliseconds: other partitions can use them. */
const KEEPS_SLOTS = 1000;

/** Time within which two timers for the same moment fire, in milliseconds. */
const SAME_MOMENT = 2;

/** Pause after a claim that failed for good, in milliseconds. */
const PAUSE_AFTER_FAILURE = 1000;

/** Interval between looks into a paused partition, since the signal of its resume may get lost; in milliseconds. */
const PAUSE_WHILE_PAUSED = 15_000;

/**
 * Taker of the messages that a {@link PartitionClaimer} claims. A message that was set aside because it could not be claimed counts as
 * settled.
 */
export interface ClaimTaker extends Pick<SettleListener, 'settled'> {
  readonly partition: Partition;
  /** Whether claimed messages have to be settled before more are claimed; {@link PartitionClaimer.wake} ends this. */
  readonly settlesFirst: boolean;
  /** Whether deliveries have succeeded that a claim can end. */
  readonly hasSucceeded: boolean;
  /** Leaves those to a claim; `undefined` if there are none. */
  takeSucceeded(): SucceededDeliveries | undefined;
  /**
   * Takes claimed deliveries in full batches as far as there are slots. Gives the rest back, or lets them wait for slots if they cannot be
   * given back.
   *
   * @returns number of slots that it uses
   */
  take(deliveries: readonly Delivery[], slots: number): number;
  /** Called after each claim if finished messages are kept, or if some are left to be removed. */
  keepsFinished(): void;
  /**
   * Called when this process no longer owns the partition.
   *
   * @param owner owner that is stored; `undefined` if none is
   */
  lost(owner: Owner | undefined): void;
}

/** Claims the messages of one owned partition when they fall due, as far as they are admitted, one claim at a time. */
export class PartitionClaimer implements Startable, Claims {
  readonly partition: Partition;
  readonly #handling: TopicHandling;
  readonly #taker: ClaimTaker;
  readonly #admission: ClaimAdmission;
  readonly #timer: DueTimer;
  readonly #patience: DueTimer;
  readonly #stop = new AbortController();
  readonly #owner: Owner;
  /** Number of claims so far. */
  #sequence = 0;
  /** Number of deliveries that the claims have made. */
  #delivered = 0;
  /** The latest claim; never rejects. */
  #claiming: Promise<void> | undefined;
  #started = false;
  /** Time when the latest answered claim was sent, or claiming began, in epoch milliseconds on the local clock. */
  #answeredAt: number;
  /** Time when the unanswered claim was sent. */
  #unansweredSince: number | undefined;
  #failedAt: number | undefined;
  /** Stops waiting for that answer; one that still comes is dropped. */
  #giveUp: ((reason: Error) => void) | undefined;

  /** @param owner identity under which this process owns the partition; new for each claimer */
  constructor(handling: TopicHandling, taker: ClaimTaker, owner: Owner) {
    this.partition = taker.partition;
    this.#handling = handling;
    this.#taker = taker;
    this.#owner = owner;
    this.#admission = handling.admission.claims(this);
    const { clock, broker } = handling.context;
    this.#answeredAt = clock.now();
    const brokerClock = { now: () => broker.now(this.partition), onStep: broker.onClockStep.bind(broker) };
    this.#timer = new DueTimer(clock, brokerClock, () => this.#admission.lookAgain());
    this.#patience = new DueTimer(clock, localClock(clock), () => this.#loseSlotsIfLate());
  }

  get mayClaim(): boolean {
    return !this.#stop.signal.aborted && !this.#taker.settlesFirst;
  }

  get endsDeliveries(): boolean {
    return this.#taker.hasSucceeded;
  }

  get isDue(): boolean {
    return this.#timer.at - this.#brokerNow <= SAME_MOMENT;
  }

  /** Milliseconds until the next claim, 0 while one is under way; `Infinity` if none is planned. */
  get claimsIn(): number {
    if (!this.mayClaim) return Infinity;
    return this.#unansweredSince === undefined ? this.#timer.at - this.#brokerNow : 0;
  }

  get progress(): PartitionProgress {
    return {
      partition: this.partition.index,
      answeredAt: this.#answeredAt,
      unansweredSince: this.#unansweredSince,
      failedAt: this.#failedAt,
      saturated: this.#taker.settlesFirst || this.#admission.waitsForSlots,
      limited: this.#admission.waitsForPermits,
    };
  }

  /** Looks into the partition at once. */
  start(): void {
    if (this.#started) return;
    this.#started = true;
    this.#admission.join();
  }

  /** Resolves once no claim is under way and the messages of the last one have been passed on. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#timer.disarm();
    this.#admission.quit();
    await this.#claiming;
    this.#patience.disarm();
  }

  /** @param at time when something may be due, in epoch milliseconds on the broker's clock */
  wake(at: number): void {
    if (!this.#stop.signal.aborted) this.#timer.arm(at);
  }

  /** Gives up an unanswered claim and sends it again; the repeat returns the deliveries that the first one may have made. */
  retry(): void {
    this.#giveUp?.(new BrokerUnavailableError('A claim was not answered'));
  }

  claim(): void {
    this.#timer.disarm();
    this.#claiming = this.#claim();
  }

  /** Time on the clock that decides about this partition, in epoch milliseconds. */
  get #brokerNow(): number {
    return this.#handling.context.broker.now(this.partition);
  }

  /** Never rejects. */
  async #claim(): Promise<void> {
    const admission = this.#admission;
    const admitted = admission.most();
    const most = typeof admitted === 'number' ? admitted : await admitted;
    const lost = most > 0 && this.mayClaim ? await this.#claimUpTo(most) : undefined;
    admission.done({ mayGoOn: !lost });
    if (lost) this.#taker.lost(lost.owner);
  }

  /** Claims at most `most` messages. Never rejects; returns the stored owner if this process no longer owns the partition. */
  async #claimUpTo(most: number): Promise<NotOwner | undefined> {
    const { context } = this.#handling;
    const admission = this.#admission;
    try {
      const { result, max, sentAt, lease } = await this.#send(most);
      if (result.status === 'not-owner') return result;
      this.#answeredAt = sentAt;
      admission.answered(result, max);
      // No other process gets an at-most-once message, however late its call is.
      const deliveries = this.#deliveriesOf(result, lease === 0 ? Infinity : sentAt + lease);
      const slots = this.#taker.take(deliveries, admission.slots);
      this.#plan(result);
      if (result.keepsFinished) this.#taker.keepsFinished();
      // Called last, since others may be woken.
      admission.used(slots, result.heldBack);
    } catch (error) {
      if (this.#stop.signal.aborted) return undefined;
      context.log.error(`Claiming from topic '${this.partition.topic}' failed`, (error as Error).stack);
      this.#tellError(error);
      this.wake(this.#brokerNow + PAUSE_AFTER_FAILURE);
    }
    return undefined;
  }

  #deliveriesOf({ messages, grantedAt, begins }: Claimed, leaseEndsAt: number): Delivery[] {
    const { permits } = this.#admission;
    const begin = this.#admission.beginTimes(begins);
    return messages.map((message) => {
      const delivery = new Delivery(this.partition, message, leaseEndsAt);
      delivery.permits = permits;
      delivery.grantedAt = grantedAt;
      if (begin) delivery.begin = begin;
      return delivery;
    });
  }

  /**
   * Sends a claim. If the broker refuses it because of a message, fewer are claimed until the one in the way stands alone; that one is set
   * aside. Only the first try takes deliveries along that have succeeded: what a refusal has made of them is asked by a call of their own.
   */
  async #send(max: number): Promise<AnsweredClaim> {
    let wanted = max;
    let succeeded = this.#taker.takeSucceeded();
    for (;;) {
      try {
        const answered = this.#ask(wanted, succeeded);
        return await (succeeded ? endWith(succeeded, answered) : answered);
      } catch (error) {
        succeeded = undefined;
        // It is not known which message it met before it lost its slots; the next claim meets it again.
        if (this.#stop.signal.aborted || !isRefused(error) || this.#admission.slots === 0) throw error;
        this.#admission.standBack();
        if (wanted > 1) wanted = Math.floor(wanted / 2);
        else if (await this.#setFirstAside(error as Error)) wanted = max;
        else throw error;
      }
    }
  }

  /** Sets aside the message that a claim of a single one would take. Returns whether there was one. */
  async #setFirstAside(error: Error): Promise<boolean> {
    const { broker } = this.#handling.context;
    const failure = toFailure('undecodable', new SerializationError(`It cannot be claimed: ${error.message}`));
    for (const state of ['in-flight', 'due'] as const) {
      const { messages } = await broker.messages.peek(this.partition, { state, limit: 1, maxBytes: 1 });
      for (const stored of messages) {
        const receipt = { storedId: stored.storedId, token: NO_TOKEN };
        const storedId = await broker.deliveries.setAside(this.partition, receipt, failure);
        if (storedId === undefined) continue;
        this.#tellError(error);
        const { envelope, deliveries, attempts: attempt, at: dueAt } = stored;
        const claimed = { storedId, envelope, token: NO_TOKEN, delivery: deliveries, attempt, weight: 0, dueAt };
        const delivery = new Delivery(this.partition, claimed, 0);
        this.#taker.settled(delivery, { outcome: { kind: 'dead', failure } }, 'settled');
        return true;
      }
    }
    return false;
  }

  /** Repeats the same request until it is answered: the broker detects whether an earlier one took effect. */
  #ask(wanted: number, succeeded: SucceededDeliveries | undefined): Promise<AnsweredClaim> {
    const { context, handled, destination, topics } = this.#handling;
    const { broker, clock, log } = context;
    const { partition } = this;
    const admission = this.#admission;
    const lease = destination.lease ?? handled.settings.lease;
    const { room, keyLimits, counts, begin } = admission.terms();
    // Written out, and with a `max`: an object that gets its members later is several times as slow to read.
    const request: ClaimRequest = {
      owner: this.#owner,
      sequence: ++this.#sequence,
      delivered: this.#delivered,
      max: wanted,
      lease,
      finished: handled.settings.finished,
      order: topics.knownOrder(partition.topic),
      sharesFrom: !destination.settlesEach && topics.mayShareRecords(partition.topic) ? SHARES_FROM : undefined,
      succeeded: succeeded?.receipts,
      room,
      keyLimits,
      counts,
      begin,
    };
    return repeatUntilServed(
      async () => {
        const sentAt = clock.now();
        const max = admission.max(wanted, sentAt);
        const result = await this.#answer(sentAt, broker.deliveries.claim(partition, { ...request, max }));
        admission.measured(clock.now() - sentAt);
        return { max, sentAt, lease, result };
      },
      {
        clock,
        signal: this.#stop.signal,
        worthRepeating: (error) => !error.refused,
        onFailure: (error, failures) => {
          this.#failedAt = clock.now();
          this.#tellError(error);
          if (failures > 1) return;
          admission.leaveRoom();
          log.warn(`Claims from topic '${partition.topic}' wait: ${error.message}`);
          admission.loseSlots();
        },
      },
    );
  }

  /** @throws the error of the call, or the reason why it was given up */
  async #answer<T>(sentAt: number, call: Promise<T>): Promise<T> {
    this.#unansweredSince = sentAt;
    this.#patience.arm(sentAt + KEEPS_SLOTS);
    try {
      return await new Promise<T>((resolve, reject) => {
        this.#giveUp = reject;
        call.then(resolve, reject);
      });
    } finally {
      this.#unansweredSince = undefined;
      this.#giveUp = undefined;
    }
  }

  /** Answers do not disarm the timer, so it usually finds a later claim, or none. */
  #loseSlotsIfLate(): void {
    if (this.#unansweredSince === undefined) return;
    const at = this.#unansweredSince + KEEPS_SLOTS;
    if (this.#handling.context.clock.now() < at) this.#patience.arm(at);
    else this.#admission.loseSlots();
  }

  #tellError(error: unknown): void {
    const { topic, index: partition } = this.partition;
    this.#handling.context.events.emit('errors', { source: 'claim', topic, partition, error });
  }

  #plan({ status, delivered, nextAt, repaired }: Claimed): void {
    const { context, log } = this.#handling;
    const { index } = this.partition;
    log.sawPaused(index, status === 'paused');
    this.#delivered = delivered;
    if (repaired > 0) log.repaired(index, repaired);
    if (nextAt === undefined) return;
    this.wake(status === 'paused' ? Math.max(nextAt, context.broker.now() + PAUSE_WHILE_PAUSED) : nextAt);
  }
}

/** Tells the deliveries that a claim was to end what has become of them. */
async function endWith(succeeded: SucceededDeliveries, answered: Promise<AnsweredClaim>): Promise<AnsweredClaim> {
  const claim = await answered.catch((error: unknown) => {
    succeeded.failed();
    throw error;
  });
  if (claim.result.status === 'not-owner') succeeded.failed();
  else succeeded.answered(claim.result.ended ?? []);
  return claim;
}
