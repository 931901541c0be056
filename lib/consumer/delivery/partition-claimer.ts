import type { ClaimRequest } from '../../store/deliveries/claim.js';
import type { Owner } from '../../store/fleet/owner.js';
import { MAX_BATCH, type Partition } from '../../store/partition.js';
import { isRefused } from '../../store/calls/split-refused.js';
import { BrokerUnavailableError } from '../../errors/operation.errors.js';
import { repeatUntilServed } from '../../store/calls/serve.js';
import type { Startable } from '../../time/startable.interface.js';
import type { PartitionProgress } from '../../fleet/progress.js';
import { BeginEstimate } from '../admission/begin-estimate.js';
import { ClaimSize } from './claim-size.js';
import { type AnsweredClaim, type Claimed, type NotOwner, deliveriesOf } from './claimed-deliveries.js';
import type { Delivery } from './delivery.js';
import { DueTimer, localClock } from '../../time/due-timer.js';
import type { Claimant } from '../admission/handler-slots.js';
import type { Permits } from '../admission/permits.js';
import { setFirstAside } from './set-first-aside.js';
import type { SettleListener } from './settler.js';
import type { SuspectTaker } from '../admission/suspect-quota.js';
import type { TopicHandling } from './topic-handling.js';

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

/** Claims what falls due in one owned partition, when it falls due, as far as slots are free. One claim at a time. */
export class PartitionClaimer implements Startable, Claimant, SuspectTaker {
  readonly #handling: TopicHandling;
  readonly #taker: ClaimTaker;
  readonly #batch: number;
  readonly #timer: DueTimer;
  readonly #patience: DueTimer;
  readonly #stop = new AbortController();
  readonly #owner: Owner;
  readonly #begins = new BeginEstimate();
  readonly #size: ClaimSize;
  /** Counts the claims. */
  #sequence = 0;
  /** How many deliveries the claims have made. */
  #delivered = 0;
  /** How many messages the last claim has left that are due, if the topic is limited. */
  #due = 0;
  /** Something may have become due while the claim was under way. */
  #again = false;
  #claiming: Promise<void> | undefined;
  /** Slots that the claim under way has. */
  #slots = 0;
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
    this.#handling = handling;
    this.#taker = taker;
    this.#batch = handling.handler.batch ?? 1;
    this.#size = new ClaimSize(this.#batch);
    this.#owner = owner;
    const { clock, broker } = handling.context;
    this.#answeredAt = clock.now();
    const brokerClock = { now: () => broker.now(taker.partition), onStep: broker.onClockStep.bind(broker) };
    this.#timer = new DueTimer(clock, brokerClock, () => this.#request());
    this.#patience = new DueTimer(clock, localClock(clock), () => this.#loseSlotsIfLate());
  }

  get priority(): number {
    return this.#handling.priority;
  }

  get wanted(): number {
    const { limiter, slots } = this.#handling;
    // Nobody should ask for permits that it has no use for.
    if (limiter.isLimited) return Math.min(Math.ceil(this.#wantedPermits / this.#batch), limiter.shareOf(slots.free));
    return this.#size.slots(slots.free);
  }

  get isAboutToAsk(): boolean {
    return this.#mayClaim && this.#timer.at - this.#brokerNow <= SAME_MOMENT;
  }

  get progress(): PartitionProgress {
    return {
      partition: this.#taker.partition.index,
      answeredAt: this.#answeredAt,
      unansweredSince: this.#unansweredSince,
      failedAt: this.#failedAt,
      saturated: this.#taker.settlesFirst || this.#handling.slots.keepsWaiting(this),
      limited: this.#handling.limiter.keepsWaiting(this),
    };
  }

  get #wantedPermits(): number {
    return Math.min(Math.max(1, this.#due), MAX_BATCH);
  }

  /** Looks into the partition at once. */
  start(): void {
    if (this.#started) return;
    this.#started = true;
    this.#handling.slots.join(this);
    this.#request();
  }

  /** Resolves once no claim is under way; what the last one brought has been handed on. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#timer.disarm();
    this.#handling.slots.quit(this);
    this.#handling.limiter.forget(this);
    await this.#claiming;
    this.#patience.disarm();
    this.#handling.suspects.forget(this);
  }

  /** @param at when something may be due, epoch milliseconds on the broker's clock */
  wake(at: number): void {
    if (!this.#stop.signal.aborted) this.#timer.arm(at);
  }

  /** Gives up a claim that is not answered and sends it again; what the first one may have made is returned then. */
  retry(): void {
    this.#giveUp?.(new BrokerUnavailableError('A claim was not answered'));
  }

  lookAgain(): void {
    this.#request();
  }

  grant(slots: number): void {
    if (this.#mayClaim) this.#claiming = this.#claim(slots);
    else {
      this.#handling.slots.release(slots);
      this.#handling.slots.withdraw(this);
    }
  }

  get #mayClaim(): boolean {
    return !this.#stop.signal.aborted && !this.#taker.settlesFirst;
  }

  /** The clock that decides about this partition, epoch milliseconds. */
  get #brokerNow(): number {
    return this.#handling.context.broker.now(this.#taker.partition);
  }

  #request(): void {
    const { slots } = this.#handling;
    if (this.#claiming) this.#again = true;
    else if (this.#mayClaim) slots.request(this);
    else slots.withdraw(this);
  }

  /** Never rejects. */
  async #claim(granted: number): Promise<void> {
    const { slots, limiter } = this.#handling;
    this.#again = false;
    this.#timer.disarm();
    this.#slots = granted;
    const permits = limiter.isLimited ? await this.#permits(granted) : undefined;
    const max = Math.min(granted * this.#batch, permits?.count ?? Infinity);
    // Without a permit it claims when the limiter tells it to.
    let lost: NotOwner | undefined;
    if (permits && (max === 0 || !this.#mayClaim)) permits.claimed(0);
    else lost = await this.#claimUpTo(max, permits);
    this.#claiming = undefined;
    this.#releaseSlots();
    if (this.#again && !lost && this.#mayClaim) slots.request(this);
    else slots.withdraw(this);
    if (lost) this.#taker.lost(lost.owner);
  }

  /** Never rejects; answers what is stored of the partition if this process does not own it any more. */
  async #claimUpTo(most: number, permits: Permits | undefined): Promise<NotOwner | undefined> {
    const { context, slots, suspects, hold } = this.#handling;
    const knownHold = hold.knownTo(this.#taker.partition);
    let delivered = 0;
    try {
      const { result, max, room, ...claim } = await this.#send(most, permits);
      if (result.status === 'not-owner') {
        suspects.leave(room);
        return result;
      }
      if (result.status === 'claimed') hold.ended(knownHold);
      delivered = result.messages.length;
      this.#size.claimed(delivered, max);
      this.#due = result.due ?? 0;
      this.#answeredAt = claim.sentAt;
      const sent = { ...claim, estimate: this.#begins, permits };
      const deliveries = deliveriesOf(this.#taker.partition, result, sent);
      // It may have lost them while it waited for its answer.
      this.#slots += slots.takeNow(Math.max(0, Math.ceil(delivered / this.#batch) - this.#slots));
      this.#slots -= this.#taker.take(deliveries, this.#slots);
      this.#plan(result);
      if (result.heldBack) suspects.await(this, room);
      if (result.keepsFinished) this.#taker.keepsFinished();
      suspects.leave(room);
    } catch (error) {
      if (this.#stop.signal.aborted) return undefined;
      context.log.error(`Claiming from topic '${this.#taker.partition.topic}' failed`, (error as Error).stack);
      this.#tellError(error);
      this.wake(this.#brokerNow + PAUSE_AFTER_FAILURE);
    } finally {
      permits?.claimed(delivered);
    }
    return undefined;
  }

  /** Never rejects. */
  async #permits(slots: number): Promise<Permits> {
    const permits = await this.#handling.limiter.take(this, Math.min(slots * this.#batch, this.#wantedPermits));
    const excess = this.#slots - Math.ceil(permits.count / this.#batch);
    if (excess > 0) {
      this.#slots -= excess;
      this.#handling.slots.release(excess);
    }
    return permits;
  }

  /**
   * If a claim is refused for what it met, fewer messages are claimed, until the one that is in the way stands alone; it is
   * set aside.
   */
  async #send(max: number, permits: Permits | undefined): Promise<AnsweredClaim> {
    let wanted = max;
    for (;;) {
      try {
        return await this.#ask(wanted, permits);
      } catch (error) {
        // What it met before it lost its slots is not known; the next claim meets it again.
        if (this.#stop.signal.aborted || !isRefused(error) || this.#slots === 0) throw error;
        this.#handling.slots.withdraw(this);
        if (wanted > 1) wanted = Math.floor(wanted / 2);
        else if (await this.#setFirstAside(error as Error)) wanted = max;
        else throw error;
      }
    }
  }

  /** Answers whether there was one. */
  async #setFirstAside(error: Error): Promise<boolean> {
    const aside = await setFirstAside(this.#handling.context.broker, this.#taker.partition, error);
    if (!aside) return false;
    this.#tellError(error);
    this.#taker.settled(aside.delivery, aside.verdict, 'settled');
    return true;
  }

  /**
   * The same request is repeated until it is answered: the broker finds out whether an earlier one took effect. A repeat that
   * has no slots any more, or no permit that is still of use, asks for nothing new.
   */
  async #ask(max: number, permits: Permits | undefined): Promise<AnsweredClaim> {
    const { context, handled, destination, suspects, limiter, topics } = this.#handling;
    const { broker, clock, log } = context;
    const { partition } = this.#taker;
    const room = suspects.enter();
    const begins = this.#begins;
    const lease = destination.lease ?? handled.settings.lease;
    const request: Omit<ClaimRequest, 'max'> = {
      owner: this.#owner,
      sequence: ++this.#sequence,
      delivered: this.#delivered,
      lease,
      finished: handled.settings.finished,
      order: topics.knownOrder(partition.topic),
      keyLimits: limiter.keyLimits,
      begin: begins.claimWindow,
      counts: limiter.isLimited,
      ...room,
    };
    const answered = repeatUntilServed(
      async () => {
        const sentAt = clock.now();
        const isInTime = permits?.mayBegin(sentAt) ?? true;
        const wanted = isInTime ? Math.min(max, this.#slots * this.#batch) : 0;
        const result = await this.#answer(sentAt, broker.deliveries.claim(partition, { ...request, max: wanted }));
        begins.answered(clock.now() - sentAt);
        return { max: wanted, sentAt, lease, room, result };
      },
      {
        clock,
        signal: this.#stop.signal,
        worthRepeating: (error) => !error.refused,
        onFailure: (error, failures) => {
          this.#failedAt = clock.now();
          this.#tellError(error);
          if (failures > 1) return;
          suspects.leave(room);
          log.warn(`Claims from topic '${partition.topic}' wait: ${error.message}`);
          this.#loseSlots();
        },
      },
    );
    try {
      return await answered;
    } catch (error) {
      suspects.leave(room);
      throw error;
    }
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
    else this.#loseSlots();
  }

  /** A partition that cannot be reached must not keep others waiting, which may be elsewhere. */
  #loseSlots(): void {
    this.#releaseSlots();
    this.#handling.slots.withdraw(this);
  }

  #releaseSlots(): void {
    const slots = this.#slots;
    this.#slots = 0;
    if (slots > 0) this.#handling.slots.release(slots);
  }

  #tellError(error: unknown): void {
    const { topic, index: partition } = this.#taker.partition;
    this.#handling.context.events.emit('errors', { source: 'claim', topic, partition, error });
  }

  #plan({ status, delivered, nextAt, repaired }: Claimed): void {
    const { context, log } = this.#handling;
    const { index } = this.#taker.partition;
    log.sawPaused(index, status === 'paused');
    this.#delivered = delivered;
    if (repaired > 0) log.repaired(index, repaired);
    if (nextAt === undefined) return;
    this.wake(status === 'paused' ? Math.max(nextAt, context.broker.now() + PAUSE_WHILE_PAUSED) : nextAt);
  }
}
