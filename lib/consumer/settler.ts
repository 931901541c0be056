import { MAX_BATCH, type Partition, type SettleStatus, type Settlement } from '../broker/broker.interface.js';
import { splitIfRefused, isRefused } from '../broker/split-refused.js';
import { describe } from '../checks/describe.js';
import { DeliveryAbortedError } from '../errors/handling.errors.js';
import { SerializationError } from '../errors/publishing.errors.js';
import { firstLine, quoted } from '../log.js';
import { type Failure, toFailure } from '../messages/failure.js';
import { mayBeNoText } from '../messages/stored-id.js';
import type { DeliveryOutcome } from '../middleware/middleware.interface.js';
import { settleWithin } from '../middleware/middleware-layers.js';
import { Loop } from '../time/loop.js';
import { repeatUntilServed } from '../broker/serve.js';
import type { ConsumerContext } from './consumer-context.js';
import type { Delivery } from './delivery.js';
import { type Verdict, dead } from './verdict.js';

/** What a settle has led to; what came too late is reported by the settler. */
export type Effect = Exclude<SettleStatus, 'stale'>;

/** Whom a {@link Settler} settles for. */
export interface SettleListener {
  /** An outcome is confirmed; of a message that had to be set aside, since it was refused, that it is a dead letter. */
  settled(delivery: Delivery, verdict: Verdict, effect: Effect): void;
}

interface PendingSettle {
  readonly delivery: Delivery;
  readonly verdict: Verdict;
}

/**
 * Sends the outcomes of one partition's deliveries, one call at a time: those that come up meanwhile travel together in
 * the next. While the broker cannot be reached they are kept, at most as many as may be handled at once.
 */
export class Settler {
  readonly #context: ConsumerContext;
  readonly #partition: Partition;
  readonly #listener: SettleListener;
  readonly #abandoned = new AbortController();
  readonly #sending: Loop;
  #pending: PendingSettle[] = [];
  #sequence = 0;
  #hasMiddlewareFailed = false;

  constructor(context: ConsumerContext, partition: Partition, listener: SettleListener) {
    this.#context = context;
    this.#partition = partition;
    this.#listener = listener;
    this.#sending = new Loop({ clock: context.clock, run: () => this.#sendAll(), gather: true });
  }

  /** Outcomes that are not confirmed yet. */
  get unsettled(): number {
    return this.#pending.length;
  }

  settle(delivery: Delivery, verdict: Verdict): void {
    // A new list in place of an empty one: what an old list outgrows holds what was in it until a full collection.
    if (this.#pending.length === 0) this.#pending = [];
    this.#pending.push({ delivery, verdict });
    this.#sending.poke();
  }

  /** Resolves once every outcome was sent and answered, or given up. */
  async idle(): Promise<void> {
    await this.#sending.idle();
  }

  /** Stops trying: what is not confirmed will be redelivered when its lease ends. */
  async stop(): Promise<void> {
    this.#abandoned.abort();
    await this.#sending.stop();
  }

  /** Never rejects. */
  async #sendAll(): Promise<void> {
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
  }

  async #send(batch: readonly PendingSettle[]): Promise<void> {
    const { settleLayers } = this.#context;
    const refused = new Map<PendingSettle, unknown>();
    const settle = (): Promise<readonly SettleStatus[]> =>
      splitIfRefused(
        batch,
        (some) => this.#call(some),
        (pending, error) => {
          if (!isRefused(error) || this.#abandoned.signal.aborted) throw error;
          refused.set(pending, error);
          return 'stale';
        },
      );
    const statuses = settleLayers
      ? await settleWithin(settleLayers, batch.map(toDeliveryOutcome), settle, (error) => this.#reportFault(error))
      : await settle();
    for (const [i, pending] of batch.entries()) {
      const status = statuses[i] as SettleStatus;
      if (refused.has(pending)) await this.#setAside(pending, refused.get(pending));
      else if (status !== 'stale') this.#listener.settled(pending.delivery, pending.verdict, status);
      else if (!(await this.#isNoText(pending))) this.#reportStale(pending.delivery);
    }
  }

  async #call(batch: readonly PendingSettle[]): Promise<SettleStatus[]> {
    const { broker, member } = this.#context;
    const call = { caller: member, sequence: ++this.#sequence };
    const settlements = batch.map(({ delivery: { storedId, token }, verdict: { outcome } }): Settlement => ({
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
   * An id that is no text in UTF-8 comes with U+FFFD in place of its bytes, so that no settle finds it. Because of
   * `DeliveryCheck` the handler was not called.
   *
   * @returns whether it was such a message, which is a dead letter now
   */
  async #isNoText({ delivery, verdict: { outcome } }: PendingSettle): Promise<boolean> {
    if (outcome.kind !== 'dead' || !mayBeNoText(delivery.storedId)) return false;
    return this.#makeDead(delivery, outcome.failure);
  }

  /** Never rejects. */
  async #makeDead(delivery: Delivery, failure: Failure): Promise<boolean> {
    const { broker } = this.#context;
    try {
      const storedId = await this.#served(() => broker.setAside(this.#partition, delivery, failure));
      if (storedId === undefined) return false;
      this.#listener.settled(delivery.renamed(storedId), dead(failure), 'settled');
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

/** What is to become of a delivery, as middleware sees it. */
function toDeliveryOutcome({ delivery, verdict: { outcome } }: PendingSettle): DeliveryOutcome {
  const { partition, id, key, attempt, message } = delivery;
  return {
    topic: partition.topic,
    partition: partition.index,
    id,
    key,
    attempt,
    message,
    outcome: outcome.kind,
    delay: 'delay' in outcome ? outcome.delay : undefined,
    failure: 'failure' in outcome ? outcome.failure : undefined,
  };
}
