import {
  MAX_BATCH,
  type Outcome,
  type Partition,
  type SettleStatus,
  type Settlement,
} from '../broker/broker.interface.js';
import { callApart, isRefused } from '../broker/call-apart.js';
import { describe } from '../checks/describe.js';
import { firstLine, quoted } from '../log.js';
import { repeatUntilServed } from '../time/retry.js';
import { DeliveryAbortedError } from '../errors/delivery-aborted.error.js';
import { SerializationError } from '../errors/serialization.error.js';
import { type Failure, toFailure } from '../messages/failure.js';
import { mayBeNoText } from '../messages/stored-id.js';
import type { ConsumerContext } from './consumer-context.js';
import type { Delivery } from './delivery.js';
import { settleWithin } from '../middleware/settle-middleware.js';
import type { DeadOutcome, OnSettled } from './delivery-reporter.js';

/** Told of a message that had to be set aside. */
type OnSetAside = (delivery: Delivery, outcome: DeadOutcome) => void;

interface PendingSettle {
  readonly delivery: Delivery;
  readonly outcome: Outcome;
  readonly onSettled: OnSettled | undefined;
}

/**
 * Sends the outcomes of one partition's deliveries, one call at a time: those that come up meanwhile travel together in
 * the next. While the broker cannot be reached they are kept, at most as many as may be handled at once.
 */
export class Settler {
  readonly #context: ConsumerContext;
  readonly #partition: Partition;
  readonly #onSetAside: OnSetAside;
  readonly #abandoned = new AbortController();
  #pending: PendingSettle[] = [];
  #sequence = 0;
  #sending: Promise<void> | undefined;
  #hasMiddlewareFailed = false;

  /** @param onSetAside told of each message that had to be set aside, as a dead letter, since its outcome was refused */
  constructor(context: ConsumerContext, partition: Partition, onSetAside: OnSetAside) {
    this.#context = context;
    this.#partition = partition;
    this.#onSetAside = onSetAside;
  }

  /** Outcomes that are not confirmed yet. */
  get unsettled(): number {
    return this.#pending.length;
  }

  /** @param onSettled called once the outcome is confirmed; not where the settle came too late */
  settle(delivery: Delivery, outcome: Outcome, onSettled?: OnSettled): void {
    // Made anew where it is empty: what an old list outgrows holds what was in it until a full collection.
    if (this.#pending.length === 0) this.#pending = [];
    this.#pending.push({ delivery, outcome, onSettled });
    this.#sending ??= this.#sendAll();
  }

  /** Resolves once every outcome was sent and answered, or given up. */
  async idle(): Promise<void> {
    await this.#sending;
  }

  /** Stops trying: what is not confirmed will be redelivered when its lease ends. */
  abandon(): void {
    this.#abandoned.abort();
  }

  /** Never rejects. */
  async #sendAll(): Promise<void> {
    // Outcomes of the same turn of the event loop go along.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#pending.length > 0 && !this.#abandoned.signal.aborted) {
      const batch = this.#pending.slice(0, MAX_BATCH);
      try {
        await this.#send(batch);
        this.#pending.splice(0, batch.length);
      } catch (error) {
        if (!this.#abandoned.signal.aborted) {
          this.#context.log.error(`Settling in topic '${this.#partition.topic}' failed: ${(error as Error).message}`);
          this.#tellError('settle', error);
          this.#pending.splice(0, batch.length);
        }
      }
    }
    this.#sending = undefined;
  }

  async #send(batch: readonly PendingSettle[]): Promise<void> {
    const { settleLayers } = this.#context;
    const refused = new Map<PendingSettle, unknown>();
    const settle = (): Promise<readonly SettleStatus[]> =>
      callApart(
        batch,
        (some) => this.#call(some),
        (pending, error) => {
          if (!isRefused(error) || this.#abandoned.signal.aborted) throw error;
          refused.set(pending, error);
          return 'stale';
        },
      );
    const statuses = settleLayers
      ? await settleWithin(settleLayers, batch, settle, (error) => this.#reportFault(error))
      : await settle();
    for (const [i, pending] of batch.entries()) {
      const status = statuses[i] as SettleStatus;
      if (refused.has(pending)) await this.#setAside(pending, refused.get(pending));
      else if (status !== 'stale') pending.onSettled?.(status);
      else if (!(await this.#isNoText(pending))) this.#reportStale(pending.delivery);
    }
  }

  async #call(batch: readonly PendingSettle[]): Promise<SettleStatus[]> {
    const { broker, member } = this.#context;
    const call = { caller: member, sequence: ++this.#sequence };
    const settlements = batch.map(({ delivery: { storedId, token }, outcome }): Settlement => ({
      storedId,
      token,
      outcome,
    }));
    return this.#served(() => broker.settle(this.#partition, call, settlements));
  }

  #served<T>(call: () => Promise<T>): Promise<T> {
    const { clock, log } = this.#context;
    return repeatUntilServed(call, {
      clock,
      signal: this.#abandoned.signal,
      // Handled messages must not be handled again because Redis refuses writes for a while.
      worthRepeating: (error) => !error.refused,
      onFailure: (error, failures) => {
        if (failures === 1) log.warn(`Settles in topic '${this.#partition.topic}' wait: ${error.message}`);
        this.#tellError('settle', error);
      },
    });
  }

  /** What cannot be settled is no use in the partition: it would be delivered again and again. */
  async #setAside({ delivery }: PendingSettle, error: unknown): Promise<void> {
    const text = `What became of it cannot be stored: ${(error as Error).message}`;
    const failure = toFailure('undecodable', new SerializationError(text, { cause: error }));
    this.#tellError('settle', error);
    if (await this.#makeDead(delivery, failure)) return;
    const { topic, index } = this.#partition;
    this.#context.log.error(
      `The outcome of message ${quoted(delivery.id)} (topic '${topic}', partition ${index}) was refused, and it could ` +
        `not be set aside either; it is delivered again when its lease ends: ${firstLine((error as Error).message)}`,
    );
  }

  /**
   * An id that is no text in UTF-8 comes with U+FFFD in place of its bytes, so that no settle finds it. `DeliveryCheck` has
   * seen to it that the handler was not called.
   *
   * @returns whether it was such a message, which is a dead letter now
   */
  async #isNoText({ delivery, outcome }: PendingSettle): Promise<boolean> {
    if (outcome.kind !== 'dead' || !mayBeNoText(delivery.storedId)) return false;
    return this.#makeDead(delivery, outcome.failure);
  }

  /** Never rejects. */
  async #makeDead(delivery: Delivery, failure: Failure): Promise<boolean> {
    const { broker } = this.#context;
    try {
      const storedId = await this.#served(() => broker.setAside(this.#partition, delivery, failure));
      if (storedId === undefined) return false;
      this.#onSetAside(delivery.renamed(storedId), { kind: 'dead', failure, spent: false });
      return true;
    } catch (error) {
      this.#tellError('settle', error);
      return false;
    }
  }

  /** Logged once: what fails at every settle would fill the log. */
  #reportFault(error: unknown): void {
    this.#tellError('hook', error);
    if (this.#hasMiddlewareFailed) return;
    this.#hasMiddlewareFailed = true;
    const { topic, index } = this.#partition;
    this.#context.log.error(
      `The settle middleware fails in partition ${index} of topic '${topic}', which changes no outcome: ${describe(error)}`,
    );
  }

  #reportStale(delivery: Delivery): void {
    const { log, events } = this.#context;
    const { topic, index } = this.#partition;
    log.warn(
      `Late settle of message ${quoted(delivery.id)} (topic '${topic}', partition ${index}, attempt ${delivery.attempt}) had no ` +
        `effect: its lease had ended and the message belongs to another delivery.`,
    );
    if (events.wants('stale')) events.emit('stale', delivery.describe());
    this.#tellError('stale', new DeliveryAbortedError('LEASE_LOST'));
  }

  #tellError(source: 'settle' | 'stale' | 'hook', error: unknown): void {
    const { topic, index: partition } = this.#partition;
    this.#context.events.emit('errors', { source, topic, partition, error });
  }
}
