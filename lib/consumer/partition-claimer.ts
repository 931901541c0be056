import { type ClaimRequest, type ClaimResult, MAX_BATCH, type Partition } from '../broker/broker.interface.js';
import { isRefused } from '../broker/split-refused.js';
import { BrokerUnavailableError } from '../errors/operation.errors.js';
import { SerializationError } from '../errors/publishing.errors.js';
import { toFailure } from '../messages/failure.js';
import { repeatUntilServed } from '../broker/serve.js';
import type { Startable } from '../time/startable.interface.js';
import type { PartitionProgress } from '../topics/topic-progress.js';
import { Delivery } from './delivery.js';
import { DueTimer } from './due-timer.js';
import type { Claimant } from './handler-slots.js';
import type { SettleListener } from './settler.js';
import type { TopicHandling } from './topic-handling.js';

/** How many messages a claim has slots for if it is not known how much is due: few, to leave some for other partitions. */
const FIRST_CLAIM = 16;

/** How long a claim that failed for good waits for the next, in milliseconds. */
const PAUSE_AFTER_FAILURE = 1000;

/** Whom a {@link PartitionClaimer} claims for. What had to be set aside, since it could not be claimed, is settled. */
export interface ClaimTaker extends SettleListener {
  readonly partition: Partition;
  /**
   * Takes what was claimed.
   *
   * @param slots enough for the deliveries in full batches
   * @returns how many of the slots it uses
   */
  take(deliveries: readonly Delivery[], slots: number): number;
  /** Another process owns the partition. */
  lost(): void;
}

/** Claims what falls due in one owned partition, when it falls due, as far as slots are free. One claim at a time. */
export class PartitionClaimer implements Startable, Claimant {
  readonly #handling: TopicHandling;
  readonly #taker: ClaimTaker;
  readonly #batch: number;
  readonly #timer: DueTimer;
  readonly #stop = new AbortController();
  #knownToken: number;
  /** The last claim took all it asked for, so there is more. */
  #backlog = false;
  /** Something may have become due while the claim was under way. */
  #again = false;
  #claiming: Promise<void> | undefined;
  #started = false;
  /** When the latest claim that was answered was sent, or claiming began; epoch milliseconds on the local clock. */
  #answeredAt: number;
  /** When the claim that waits for its answer was sent. */
  #unansweredSince: number | undefined;
  /** Ends the waiting for that answer; one that comes all the same is dropped. */
  #giveUp: ((reason: Error) => void) | undefined;
  /** Whether the topic was paused at the latest claim. */
  #paused = false;

  /** @param token the partition's highest token when it was acquired */
  constructor(handling: TopicHandling, taker: ClaimTaker, token: number) {
    this.#handling = handling;
    this.#taker = taker;
    this.#batch = handling.handler.batch ?? 1;
    this.#knownToken = token;
    const { clock, broker } = handling.context;
    this.#answeredAt = clock.now();
    this.#timer = new DueTimer(
      clock,
      () => broker.now(),
      () => this.#request(),
    );
  }

  get priority(): number {
    return this.#handling.priority;
  }

  get wanted(): number {
    return this.#backlog ? Math.floor(MAX_BATCH / this.#batch) : Math.ceil(FIRST_CLAIM / this.#batch);
  }

  get progress(): PartitionProgress {
    return {
      partition: this.#taker.partition.index,
      answeredAt: this.#answeredAt,
      unansweredSince: this.#unansweredSince,
      saturated: this.#handling.slots.keepsWaiting(this),
    };
  }

  /** Looks into the partition at once. */
  start(): void {
    if (this.#started) return;
    this.#started = true;
    this.#request();
  }

  /** Resolves once no claim is under way; what the last one brought has been handed on. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#timer.disarm();
    this.#handling.slots.withdraw(this);
    await this.#claiming;
  }

  /** @param at when something may be due, epoch milliseconds on the broker's clock */
  wake(at: number): void {
    if (!this.#stop.signal.aborted) this.#timer.arm(at);
  }

  /**
   * Takes the earliest due time as the owner sees it now and then.
   *
   * @param nextDueAt epoch milliseconds on the broker's clock
   * @param grace how much of a delay is none, in milliseconds
   * @returns whether something has been due for longer, and nothing here knew: the signal that should have said so is lost
   */
  notice(nextDueAt: number, grace: number): boolean {
    const { context, slots } = this.#handling;
    const awake = this.#claiming !== undefined || this.#paused || slots.keepsWaiting(this);
    const missed = !awake && this.#timer.at > nextDueAt && context.broker.now() - nextDueAt > grace;
    this.wake(nextDueAt);
    return missed;
  }

  /** Gives up a claim that is not answered and sends it again; what the first one may have made is returned then. */
  retry(): void {
    this.#giveUp?.(new BrokerUnavailableError('A claim was not answered'));
  }

  grant(slots: number): void {
    this.#claiming = this.#claim(slots);
  }

  #request(): void {
    if (this.#claiming) this.#again = true;
    else if (!this.#stop.signal.aborted) this.#handling.slots.request(this);
  }

  /** Never rejects. */
  async #claim(granted: number): Promise<void> {
    const { context, slots, handled } = this.#handling;
    const { partition } = this.#taker;
    const max = granted * this.#batch;
    this.#again = false;
    this.#timer.disarm();
    let unused = granted;
    let lost = false;
    try {
      const { result, sentAt } = await this.#send(max);
      lost = result.status === 'not-owner';
      if (result.status !== 'not-owner') {
        this.#backlog = result.messages.length >= max;
        this.#answeredAt = sentAt;
        const leaseEndsAt = sentAt + handled.settings.lease;
        const deliveries = result.messages.map((message) => new Delivery(partition, message, leaseEndsAt));
        unused -= this.#taker.take(deliveries, granted);
        this.#plan(result);
      }
    } catch (error) {
      if (!this.#stop.signal.aborted) {
        context.log.error(`Claiming from topic '${partition.topic}' failed`, (error as Error).stack);
        this.#tellError(error);
        this.wake(context.broker.now() + PAUSE_AFTER_FAILURE);
      }
    }
    this.#claiming = undefined;
    if (unused > 0) slots.release(unused);
    if (this.#again && !lost && !this.#stop.signal.aborted) slots.request(this);
    else slots.withdraw(this);
    if (lost) this.#taker.lost();
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
        if (this.#stop.signal.aborted || !isRefused(error)) throw error;
        this.#handling.slots.withdraw(this);
        if (wanted > 1) wanted = Math.floor(wanted / 2);
        else if (await this.#setFirstAside(error)) wanted = max;
        else throw error;
      }
    }
  }

  /** Sets that message aside which a claim of a single one would take; answers whether there was one. */
  async #setFirstAside(error: unknown): Promise<boolean> {
    const { broker } = this.#handling.context;
    const { partition } = this.#taker;
    const text = `It cannot be claimed: ${(error as Error).message}`;
    const failure = toFailure('undecodable', new SerializationError(text));
    for (const state of ['in-flight', 'due'] as const) {
      const { messages } = await broker.peek(partition, { state, limit: 1, maxBytes: 1 });
      for (const stored of messages) {
        const storedId = await broker.setAside(partition, { storedId: stored.storedId, token: 0 }, failure);
        if (storedId === undefined) continue;
        this.#tellError(error);
        const { envelope, attempts: attempt, at: dueAt } = stored;
        const delivery = new Delivery(partition, { storedId, envelope, token: 0, attempt, dueAt }, 0);
        this.#taker.settled(delivery, { outcome: { kind: 'dead', failure } }, 'settled');
        return true;
      }
    }
    return false;
  }

  /** The same request is repeated until it is answered: the broker finds out whether an earlier one took effect. */
  async #ask(max: number): Promise<AnsweredClaim> {
    const { context, slots, handled } = this.#handling;
    const { broker, clock, log, member } = context;
    const { partition } = this.#taker;
    const request: ClaimRequest = { member, max, lease: handled.settings.lease, knownToken: this.#knownToken };
    return repeatUntilServed(
      async () => {
        const sentAt = clock.now();
        return { sentAt, result: await this.#answer(sentAt, broker.claim(partition, request)) };
      },
      {
        clock,
        signal: this.#stop.signal,
        worthRepeating: (error) => !error.refused,
        onFailure: (error, failures) => {
          this.#tellError(error);
          if (failures > 1) return;
          log.warn(`Claims from topic '${partition.topic}' wait: ${error.message}`);
          // A partition that cannot be reached must not keep those of later topics waiting, which may be elsewhere.
          slots.withdraw(this);
        },
      },
    );
  }

  /** @throws what the call rejects with, or the reason for which it was given up */
  async #answer<T>(sentAt: number, call: Promise<T>): Promise<T> {
    this.#unansweredSince = sentAt;
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

  #tellError(error: unknown): void {
    const { topic, index: partition } = this.#taker.partition;
    this.#handling.context.events.emit('errors', { source: 'claim', topic, partition, error });
  }

  #plan({ status, token, nextAt, repaired }: Exclude<ClaimResult, { status: 'not-owner' }>): void {
    const { context, log } = this.#handling;
    const { topic, index } = this.#taker.partition;
    this.#paused = status === 'paused';
    log.sawPaused(index, this.#paused);
    this.#knownToken = token;
    if (repaired > 0) {
      context.log.warn(
        `Repaired ${repaired} entries of topic '${topic}', partition ${index}, that were damaged or had no message`,
      );
    }
    if (nextAt !== undefined) this.wake(nextAt);
  }
}

/** A claim that was answered, and when it was sent, in epoch milliseconds on the local clock. */
interface AnsweredClaim {
  readonly result: ClaimResult;
  readonly sentAt: number;
}
