import {
  MAX_BATCH,
  type ClaimedMessage,
  type ClaimRequest,
  type ClaimResult,
  type Partition,
  type StoredMessage,
} from '../broker/broker.interface.js';
import { isRefused } from '../broker/call-apart.js';
import { repeatUntilServed } from '../time/repeat.js';
import type { Startable } from '../time/startable.interface.js';
import { BrokerUnavailableError } from '../errors/broker-unavailable.error.js';
import { SerializationError } from '../errors/serialization.error.js';
import { toFailure } from '../messages/failure.js';
import type { ConsumerContext } from './consumer-context.js';
import type { DeadOutcome } from './delivery-reporter.js';
import { DueTimer } from './due-timer.js';
import { PendingCall } from './pending-call.js';
import type { PartitionProgress } from '../topics/progress.js';
import type { Claimant, WorkerGroup } from './worker-group.js';
import type { WorkerPool } from './worker-pool.js';

/** How many messages a claim has slots for where it is not known how much is due: few, to leave some for other partitions. */
const FIRST_CLAIM = 16;

/** How long a claim that failed for good waits for the next, in milliseconds. */
const PAUSE_AFTER_FAILURE = 1000;

export interface PartitionClaimerOptions {
  readonly context: ConsumerContext;
  readonly partition: Partition;
  readonly pool: WorkerPool;
  readonly group: WorkerGroup;
  /** See {@link Claimant.priority}. */
  readonly priority: number;
  /** Most messages that are handled in one slot, 1 to {@link MAX_BATCH}. */
  readonly batch: number;
  /** Milliseconds. */
  readonly lease: number;
  /** The partition's highest token when it was acquired. */
  readonly token: number;
  /**
   * Takes what was claimed, with slots for it.
   *
   * @param leaseEndsAt on the local clock, epoch milliseconds
   * @returns how many of the slots it uses
   */
  readonly onMessages: (messages: readonly ClaimedMessage[], leaseEndsAt: number, slots: number) => number;
  /** Told of a message that could not be claimed, and is a dead letter now. */
  readonly onSetAside: (stored: StoredMessage, outcome: DeadOutcome) => void;
  /** Another process owns the partition. */
  readonly onLost: () => void;
  /** Told whether the partition is paused, by the first claim and at each change. */
  readonly onPause: (paused: boolean) => void;
}

/** Claims what falls due in one owned partition, when it falls due, as far as slots are free. One claim at a time. */
export class PartitionClaimer implements Startable, Claimant {
  readonly #options: PartitionClaimerOptions;
  readonly #timer: DueTimer;
  readonly #call = new PendingCall();
  readonly #stop = new AbortController();
  #knownToken: number;
  /** The last claim took all it asked for, so there is more. */
  #backlog = false;
  /** Something may have become due while the claim was under way. */
  #again = false;
  #claiming: Promise<void> | undefined;
  /** When the latest claim that was answered was sent, or claiming began; epoch milliseconds on the local clock. */
  #answeredAt: number;
  /** Whether the latest claim was told that the topic is paused; `undefined` before the first. */
  #paused: boolean | undefined;

  constructor(options: PartitionClaimerOptions) {
    this.#options = options;
    this.#knownToken = options.token;
    const { clock, broker } = options.context;
    this.#answeredAt = clock.now();
    this.#timer = new DueTimer(
      clock,
      () => broker.now(),
      () => this.#request(),
    );
  }

  get group(): WorkerGroup {
    return this.#options.group;
  }

  get priority(): number {
    return this.#options.priority;
  }

  get wanted(): number {
    const { batch } = this.#options;
    return this.#backlog ? Math.floor(MAX_BATCH / batch) : Math.ceil(FIRST_CLAIM / batch);
  }

  get progress(): PartitionProgress {
    return {
      partition: this.#options.partition.index,
      answeredAt: this.#answeredAt,
      unansweredSince: this.#call.since,
      saturated: this.#options.pool.keepsWaiting(this),
    };
  }

  /** Looks into the partition at once. */
  start(): void {
    this.#request();
  }

  /** Resolves once no claim is under way; what the last one brought has been handed on. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#timer.disarm();
    this.#options.pool.withdraw(this);
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
    const { context, pool } = this.#options;
    const awake = this.#claiming !== undefined || this.#paused || pool.keepsWaiting(this);
    const missed = !awake && this.#timer.at > nextDueAt && context.broker.now() - nextDueAt > grace;
    this.wake(nextDueAt);
    return missed;
  }

  /** Gives up a claim that is not answered and sends it again; what the first one may have made is returned then. */
  retry(): void {
    this.#call.giveUp(new BrokerUnavailableError('A claim was not answered'));
  }

  grant(slots: number): void {
    this.#claiming = this.#claim(slots);
  }

  #request(): void {
    if (this.#claiming) this.#again = true;
    else if (!this.#stop.signal.aborted) this.#options.pool.request(this);
  }

  /** Never rejects. */
  async #claim(slots: number): Promise<void> {
    const { context, pool, group, batch, onMessages, onLost, lease } = this.#options;
    const max = slots * batch;
    this.#again = false;
    this.#timer.disarm();
    let sentAt = 0;
    let unused = slots;
    let lost = false;
    try {
      const result = await this.#send(max, (at) => (sentAt = at));
      lost = result.status === 'not-owner';
      if (result.status !== 'not-owner') {
        this.#backlog = result.messages.length >= max;
        this.#answeredAt = sentAt;
        unused -= onMessages(result.messages, sentAt + lease, slots);
        this.#plan(result);
      }
    } catch (error) {
      if (!this.#stop.signal.aborted) {
        context.log.error(`Claiming from topic '${this.#options.partition.topic}' failed`, (error as Error).stack);
        this.#tellError(error);
        this.wake(context.broker.now() + PAUSE_AFTER_FAILURE);
      }
    }
    this.#claiming = undefined;
    if (unused > 0) pool.release(group, unused);
    if (this.#again && !lost && !this.#stop.signal.aborted) pool.request(this);
    else pool.withdraw(this);
    if (lost) onLost();
  }

  /**
   * Where a claim is refused for what it met, fewer messages are claimed, until the one that is in the way stands alone; it
   * is set aside.
   */
  async #send(max: number, onSend: (at: number) => void): Promise<ClaimResult> {
    let wanted = max;
    for (;;) {
      try {
        return await this.#ask(wanted, onSend);
      } catch (error) {
        if (this.#stop.signal.aborted || !isRefused(error)) throw error;
        this.#options.pool.withdraw(this);
        if (wanted > 1) wanted = Math.floor(wanted / 2);
        else if (await this.#setFirstAside(error)) wanted = max;
        else throw error;
      }
    }
  }

  /** Sets that message aside which a claim of a single one would take; answers whether there was one. */
  async #setFirstAside(error: unknown): Promise<boolean> {
    const { context, partition, onSetAside } = this.#options;
    const { broker } = context;
    const failure = toFailure(
      'undecodable',
      new SerializationError(`It cannot be claimed: ${(error as Error).message}`),
    );
    for (const state of ['in-flight', 'due'] as const) {
      const { messages } = await broker.peek(partition, { state, limit: 1, maxBytes: 1 });
      for (const stored of messages) {
        const storedId = await broker.setAside(partition, { storedId: stored.storedId, token: 0 }, failure);
        if (storedId === undefined) continue;
        this.#tellError(error);
        onSetAside({ ...stored, storedId }, { kind: 'dead', failure });
        return true;
      }
    }
    return false;
  }

  /** The same request is repeated until it is answered: the broker finds out whether an earlier one took effect. */
  #ask(max: number, onSend: (at: number) => void): Promise<ClaimResult> {
    const { context, partition, pool, lease } = this.#options;
    const { broker, clock, log, member } = context;
    const request: ClaimRequest = { member, max, lease, knownToken: this.#knownToken };
    return repeatUntilServed(
      () => {
        const sentAt = clock.now();
        onSend(sentAt);
        return this.#call.answer(sentAt, broker.claim(partition, request));
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
          pool.withdraw(this);
        },
      },
    );
  }

  #tellError(error: unknown): void {
    const { context, partition } = this.#options;
    context.events.emit('errors', { source: 'claim', topic: partition.topic, partition: partition.index, error });
  }

  #plan({ status, token, nextAt, repaired }: Exclude<ClaimResult, { status: 'not-owner' }>): void {
    const paused = status === 'paused';
    if (paused !== this.#paused) this.#options.onPause((this.#paused = paused));
    const { log } = this.#options.context;
    const { topic, index } = this.#options.partition;
    this.#knownToken = token;
    if (repaired > 0) {
      log.warn(
        `Repaired ${repaired} entries of topic '${topic}', partition ${index}, that were damaged or had no message`,
      );
    }
    if (nextAt !== undefined) this.wake(nextAt);
  }
}
