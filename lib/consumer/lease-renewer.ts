import { type ExtendStatus, MAX_BATCH, type Partition } from '../broker/broker.interface.js';
import { callApart, isRefused } from '../common/call-apart.js';
import type { Timer } from '../common/clock.js';
import type { Startable } from '../common/startable.interface.js';
import { BrokerUnavailableError } from '../errors/broker-unavailable.error.js';
import { DeliveryAbortedError } from '../errors/delivery-aborted.error.js';
import type { ConsumerContext } from './consumer-context.js';
import type { Delivery } from './delivery.js';

/** The deliveries of one partition whose handlers run, by stored id. */
export type RunningDeliveries = Map<string, Delivery>;

/**
 * Renews the leases of a topic's running deliveries three times a lease, and aborts the handlers of those that are lost.
 * Where nothing runs, no timer does.
 */
export class LeaseRenewer implements Startable {
  readonly #context: ConsumerContext;
  readonly #lease: number;
  readonly #running: () => Iterable<readonly [Partition, RunningDeliveries]>;
  #timer: Timer | undefined;
  #renewing: Promise<void> | undefined;
  #stopped = false;

  /** @param lease milliseconds */
  constructor(
    context: ConsumerContext,
    lease: number,
    running: () => Iterable<readonly [Partition, RunningDeliveries]>,
  ) {
    this.#context = context;
    this.#lease = lease;
    this.#running = running;
  }

  /** To be called whenever a delivery has begun: its first renewal comes a third of a lease later at most. */
  start(): void {
    if (this.#timer || this.#stopped) return;
    this.#schedule();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#renewing;
  }

  /** Renews now; to be called when the broker is back after it could not be reached. */
  async renew(): Promise<void> {
    this.#renewing ??= this.#renewAll();
    await this.#renewing;
  }

  #schedule(): void {
    this.#timer = this.#context.clock.setTimer(this.#lease / 3, () => {
      this.#timer = undefined;
      const [first] = this.#unsettled();
      if (!first) return;
      this.#schedule();
      if (this.#renewing) this.#abortExpired();
      else void this.renew();
    });
  }

  /** Never rejects. */
  async #renewAll(): Promise<void> {
    const renewals: Promise<void>[] = [];
    for (const [partition, deliveries] of this.#unsettled()) {
      for (let first = 0; first < deliveries.length; first += MAX_BATCH) {
        renewals.push(this.#renewBatch(partition, deliveries.slice(first, first + MAX_BATCH)));
      }
    }
    await Promise.all(renewals);
    this.#renewing = undefined;
  }

  /** A handler may outlive its outcome, as where it timed out; its lease is of no use then. */
  *#unsettled(): Generator<readonly [Partition, Delivery[]]> {
    for (const [partition, running] of this.#running()) {
      const deliveries = [...running.values()].filter(({ settled }) => !settled);
      if (deliveries.length > 0) yield [partition, deliveries];
    }
  }

  async #renewBatch(partition: Partition, deliveries: readonly Delivery[]): Promise<void> {
    const { broker, clock } = this.#context;
    const sentAt = clock.now();
    try {
      const statuses = await callApart<Delivery, ExtendStatus | undefined>(
        deliveries,
        (some) => broker.extend(partition, this.#lease, some),
        (_, error) => this.#refused(partition, error),
      );
      for (const [i, delivery] of deliveries.entries()) {
        if (statuses[i] === undefined) continue;
        if (statuses[i] === 'lost') delivery.abort(new DeliveryAbortedError('LEASE_LOST'));
        else delivery.leaseEndsAt = sentAt + this.#lease;
        if (statuses[i] === 'cancelled') delivery.abort(new DeliveryAbortedError('CANCELLED'));
      }
      if (statuses.includes(undefined)) this.#abortExpired();
    } catch (error) {
      this.#tellError(partition, error);
      this.#abortExpired();
    }
  }

  /** One lease that cannot be renewed ends, and no other. */
  #refused(partition: Partition, error: unknown): undefined {
    if (!isRefused(error)) throw error;
    this.#tellError(partition, error);
  }

  #tellError({ topic, index: partition }: Partition, error: unknown): void {
    const { log, events } = this.#context;
    events.emit('errors', { source: 'extend', topic, partition, error });
    if (!(error instanceof BrokerUnavailableError) || error.refused)
      log.error(`Renewing leases in topic '${topic}' failed`, (error as Error).stack);
  }

  /** Without an answer of the broker the lease counts as lost when its time is over. */
  #abortExpired(): void {
    const now = this.#context.clock.now();
    for (const [, running] of this.#running()) {
      for (const delivery of running.values()) {
        if (delivery.leaseEndsAt <= now) delivery.abort(new DeliveryAbortedError('LEASE_LOST'));
      }
    }
  }
}
