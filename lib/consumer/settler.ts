import {
  MAX_BATCH,
  type Outcome,
  type Partition,
  type SettleStatus,
  type Settlement,
} from '../broker/broker.interface.js';
import { describe } from '../common/describe.js';
import { repeatUntilServed } from '../common/repeat.js';
import { DeliveryAbortedError } from '../errors/delivery-aborted.error.js';
import type { ConsumerContext } from './consumer-context.js';
import type { Delivery } from './delivery.js';
import { settleWithin } from './settle-middleware.js';
import type { OnSettled } from './delivery-reporter.js';

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
  readonly #abandoned = new AbortController();
  #pending: PendingSettle[] = [];
  #sequence = 0;
  #sending: Promise<void> | undefined;
  #hasMiddlewareFailed = false;

  constructor(context: ConsumerContext, partition: Partition) {
    this.#context = context;
    this.#partition = partition;
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
    const settlements = batch.map(({ delivery: { storedId, token }, outcome }): Settlement => ({
      storedId,
      token,
      outcome,
    }));
    const statuses = settleLayers
      ? await settleWithin(
          settleLayers,
          batch,
          () => this.#call(settlements),
          (error) => this.#reportFault(error),
        )
      : await this.#call(settlements);
    batch.forEach(({ delivery, onSettled }, i) => {
      const status = statuses[i] as SettleStatus;
      if (status === 'stale') this.#reportStale(delivery);
      else onSettled?.(status);
    });
  }

  async #call(settlements: readonly Settlement[]): Promise<SettleStatus[]> {
    const { broker, clock, member, log } = this.#context;
    const call = { caller: member, sequence: ++this.#sequence };
    return repeatUntilServed(() => broker.settle(this.#partition, call, settlements), {
      clock,
      signal: this.#abandoned.signal,
      // Handled messages must not be handled again because Redis refuses writes for a while.
      worthRepeating: () => true,
      onFailure: (error, failures) => {
        if (failures === 1) log.warn(`Settles in topic '${this.#partition.topic}' wait: ${error.message}`);
        this.#tellError('settle', error);
      },
    });
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
      `Late settle of message '${delivery.id}' (topic '${topic}', partition ${index}, attempt ${delivery.attempt}) had no ` +
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
