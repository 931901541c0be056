import type { ClaimRequest, ClaimResult } from '../../store/deliveries/claim.js';
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
import type { TopicHandling } from './topic-handling.js';

type NotOwner = Extract<ClaimResult, { status: 'not-owner' }>;

/** A claim that was answered. */
interface AnsweredClaim {
  readonly result: ClaimResult;
  /** How many messages it asked for. */
  readonly max: number;
  /** Epoch milliseconds on the local clock. */
  readonly sentAt: number;
  /** What it was asked with, in milliseconds; 0: at most once. */
  readonly lease: number;
}

/** For how long a claim that is not answered keeps its slots, in milliseconds: other partitions can use them. */
const KEEPS_SLOTS = 1000;

/** Two timers for one point in time fire within this, in milliseconds. */
const SAME_MOMENT = 2;

/** How long a claim that failed for good waits for the next, in milliseconds. */
const PAUSE_AFTER_FAILURE = 1000;

/** How long a partition that is paused is left before the next look, since the signal of its resume may be lost; milliseconds. */
const PAUSE_WHILE_PAUSED = 15_000;

/** Whom a {@link PartitionClaimer} claims for. What had to be set aside, since it could not be claimed, is settled. */
export interface ClaimTaker extends Pick<SettleListener, 'settled'> {
  readonly partition: Partition;
  /** Whether what was claimed has to be settled before more is claimed; {@link PartitionClaimer.wake} ends this. */
  readonly settlesFirst: boolean;
  /**
   * Takes what was claimed, in full batches, as far as there are slots, and gives back what there are none for, or has it wait for some if that
   * cannot be.
   *
   * @returns how many of the slots it uses
   */
  take(deliveries: readonly Delivery[], slots: number): number;
  /** Finished messages are kept, or some are left that are to be removed; each claim tells. */
  keepsFinished(): void;
  /**
   * This process does not own the partition any more.
   *
   * @param owner what is stored of its owner; `undefined` if nothing is
   */
  lost(owner: Owner | undefined): void;
}

/** Claims what falls due in one owned partition, when it falls due, as far as it is admitted. One claim at a time. */
export class PartitionClaimer implements Startable, Claims {
  readonly partition: Partition;
  readonly #handling: TopicHandling;
  readonly #taker: ClaimTaker;
  readonly #admission: ClaimAdmission;
  readonly #timer: DueTimer;
  readonly #patience: DueTimer;
  readonly #stop = new AbortController();
  readonly #owner: Owner;
  /** Counts the claims. */
  #sequence = 0;
  /** How many deliveries the claims have made. */
  #delivered = 0;
  /** The latest claim; never rejects. */
  #claiming: Promise<void> | undefined;
  #started = false;
  /** When the latest claim that was answered was sent, or claiming began; epoch milliseconds on the local clock. */
  #answeredAt: number;
  /** When the claim that waits for its answer was sent. */
  #unansweredSince: number | undefined;
  #failedAt: number | undefined;
  /** Ends the waiting for that answer; one that comes all the same is dropped. */
  #giveUp: ((reason: Error) => void) | undefined;

  /** @param owner as whom this process owns the partition; new for each claimer */
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

  get isDue(): boolean {
    return this.#timer.at - this.#brokerNow <= SAME_MOMENT;
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

  /** Resolves once no claim is under way; what the last one brought has been handed on. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#timer.disarm();
    this.#admission.quit();
    await this.#claiming;
    this.#patience.disarm();
  }

  /** @param at when something may be due, epoch milliseconds on the broker's clock */
  wake(at: number): void {
    if (!this.#stop.signal.aborted) this.#timer.arm(at);
  }

  /** Gives up a claim that is not answered and sends it again; what the first one may have made is returned then. */
  retry(): void {
    this.#giveUp?.(new BrokerUnavailableError('A claim was not answered'));
  }

  claim(): void {
    this.#timer.disarm();
    this.#claiming = this.#claim();
  }

  /** The clock that decides about this partition, epoch milliseconds. */
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

  /** Never rejects; answers what is stored of the partition if this process does not own it any more. */
  async #claimUpTo(most: number): Promise<NotOwner | undefined> {
    const { context } = this.#handling;
    const admission = this.#admission;
    try {
      const { result, max, sentAt, lease } = await this.#send(most);
      if (result.status === 'not-owner') return result;
      this.#answeredAt = sentAt;
      admission.answered(result, max);
      // Nobody else gets what is delivered at most once, however late its call is.
      const deliveries = this.#deliveriesOf(result, lease === 0 ? Infinity : sentAt + lease);
      const slots = this.#taker.take(deliveries, admission.slots);
      this.#plan(result);
      if (result.keepsFinished) this.#taker.keepsFinished();
      // The last, since others may be woken.
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
   * If a claim is refused for what it met, fewer messages are claimed, until the one that is in the way stands alone; it is
   * set aside.
   */
  async #send(max: number): Promise<AnsweredClaim> {
    let wanted = max;
    for (;;) {
      try {
        return await this.#ask(wanted);
      } catch (error) {
        // What it met before it lost its slots is not known; the next claim meets it again.
        if (this.#stop.signal.aborted || !isRefused(error) || this.#admission.slots === 0) throw error;
        this.#admission.standBack();
        if (wanted > 1) wanted = Math.floor(wanted / 2);
        else if (await this.#setFirstAside(error as Error)) wanted = max;
        else throw error;
      }
    }
  }

  /** Sets that message aside which a claim of a single one would take. Answers whether there was one. */
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

  /** The same request is repeated until it is answered: the broker finds out whether an earlier one took effect. */
  async #ask(wanted: number): Promise<AnsweredClaim> {
    const { context, handled, destination, topics } = this.#handling;
    const { broker, clock, log } = context;
    const { partition } = this;
    const admission = this.#admission;
    const lease = destination.lease ?? handled.settings.lease;
    const request: Omit<ClaimRequest, 'max'> = {
      owner: this.#owner,
      sequence: ++this.#sequence,
      delivered: this.#delivered,
      lease,
      finished: handled.settings.finished,
      order: topics.knownOrder(partition.topic),
      ...admission.terms(),
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

  /** @throws what the call rejects with, or the reason for which it was given up */
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

  /** The timer is not disarmed by each answer, so it mostly finds a later claim, or none. */
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
