import { type ExtendStatus, MAX_BATCH, type Partition } from '../broker/broker.interface.js';
import { callApart, isRefused } from '../broker/call-apart.js';
import type { Timer } from '../time/clock.js';
import type { Startable } from '../time/startable.interface.js';
import { DeliveryAbortedError, HandlerOverrunError } from '../errors/handling.errors.js';
import { BrokerUnavailableError } from '../errors/operation.errors.js';
import type { ConsumerContext } from './consumer-context.js';
import type { Delivery } from './delivery.js';
import { decodeEnvelope } from '../messages/envelope.js';
import type { HandlerSettings } from './message-handler.interface.js';

/** A handler that runs for longer may hang. */
const LONG_RUN = 3;

/** The deliveries of one partition whose handlers run, by stored id. */
export type RunningDeliveries = Map<string, Delivery>;

/**
 * Renews the leases of a topic's running deliveries three times a lease, aborts the handlers of those that are lost, and
 * warns of those that run for long. Where nothing runs, no timer does.
 */
export class LeaseRenewer implements Startable {
  readonly #context: ConsumerContext;
  readonly #handler: string;
  readonly #lease: number;
  readonly #timeout: number | undefined;
  readonly #running: () => Iterable<readonly [Partition, RunningDeliveries]>;
  /** Deliveries whose long run was told of. */
  readonly #overrun = new WeakSet<Delivery>();
  #timer: Timer | undefined;
  #renewing: Promise<void> | undefined;
  #stopped = false;

  /** @param handler its name, for the log */
  constructor(
    context: ConsumerContext,
    handler: string,
    { lease, timeout }: Pick<HandlerSettings, 'lease' | 'timeout'>,
    running: () => Iterable<readonly [Partition, RunningDeliveries]>,
  ) {
    this.#context = context;
    this.#handler = handler;
    this.#lease = lease;
    this.#timeout = timeout;
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
      if (this.#timeout === undefined) this.#tellOverruns();
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

  /** Tells once of each call that runs for long and is not limited, with all of its messages. */
  #tellOverruns(): void {
    const now = this.#context.clock.now();
    const calls = new Map<unknown, Delivery[]>();
    for (const [, deliveries] of this.#unsettled()) {
      for (const delivery of deliveries) {
        const { startedAt = now, slot } = delivery;
        if (now - startedAt <= LONG_RUN * this.#lease || this.#overrun.has(delivery)) continue;
        this.#overrun.add(delivery);
        const call = calls.get(slot);
        if (slot && call) call.push(delivery);
        else calls.set(slot ?? delivery, [delivery]);
      }
    }
    for (const deliveries of calls.values()) this.#tellOverrun(deliveries, now);
  }

  #tellOverrun(deliveries: readonly Delivery[], now: number): void {
    // Whoever limits a message's time has said how long its handler may take.
    if (deliveries.some(({ envelope }) => decodeEnvelope(envelope).timeout !== undefined)) return;
    const { startedAt = now, partition } = deliveries[0] as Delivery;
    const ids = deliveries.map(({ id }) => id);
    const error = new HandlerOverrunError(this.#handler, partition.topic, ids, now - startedAt, this.#lease);
    const { log, events } = this.#context;
    log.warn(error.message);
    events.emit('errors', { source: 'overrun', topic: partition.topic, partition: partition.index, error });
  }
}
