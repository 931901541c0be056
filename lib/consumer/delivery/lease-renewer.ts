import type { ExtendStatus } from '../../store/deliveries/settle.js';
import { MAX_BATCH, type Partition } from '../../store/partition.js';
import { isRefused, splitIfRefused } from '../../store/calls/split-refused.js';
import { BrokerUnavailableError } from '../../errors/operation.errors.js';
import { DeliveryAbortedError, HandlerOverrunError } from '../../errors/handling.errors.js';
import { decodeEnvelope } from '../../messages/envelope.js';
import { Loop } from '../../time/loop.js';
import type { Call, Delivery } from './delivery.js';
import type { RunningDeliveries } from './running-deliveries.js';
import type { Settler } from './settler.js';
import type { TopicHandling } from './topic-handling.js';

/** Number of leases after which a running handler may hang. */
const LONG_RUN = 3;

/** Holders of the deliveries whose leases are renewed. */
export interface LeaseHolders {
  readonly running: RunningDeliveries;
  /** Deliveries whose outcomes wait keep their leases, or their handlers would be called again. */
  readonly settler: Pick<Settler, 'waiting'>;
}

/**
 * Renews the leases of a partition's running deliveries three times per lease, aborts deliveries that turn out to be lost or cancelled, and
 * warns of handlers that run for long. Without deliveries there is no timer.
 */
export class LeaseRenewer {
  readonly #handling: TopicHandling;
  readonly #partition: Partition;
  readonly #holders: LeaseHolders;
  readonly #ticks: Loop;
  readonly #renewals: Loop;
  /** Deliveries whose long run has been reported. */
  readonly #overrun = new WeakSet<Delivery>();

  constructor(handling: TopicHandling, partition: Partition, holders: LeaseHolders) {
    this.#handling = handling;
    this.#partition = partition;
    this.#holders = holders;
    const { clock } = handling.context;
    this.#ticks = new Loop({ clock, run: () => this.#tick() });
    this.#renewals = new Loop({ clock, run: () => this.#renewAll() });
  }

  /**
   * Call this whenever deliveries begin: their first renewal comes at most a third of a lease later.
   *
   * @param leaseEndsAt earliest end of the new leases, in epoch milliseconds on the local clock
   */
  start(leaseEndsAt: number): void {
    if (this.#ticks.resting) this.#ticks.later(this.#lease / 3);
    this.#handling.leaseEnds.watch(this.#holders.running, leaseEndsAt);
  }

  async stop(): Promise<void> {
    await Promise.all([this.#ticks.stop(), this.#renewals.stop()]);
  }

  /** Renews now; call this when the broker is reachable again. */
  async renew(): Promise<void> {
    await this.#renewals.request();
  }

  get #lease(): number {
    return this.#handling.handled.settings.lease;
  }

  get #deliveries(): Delivery[] {
    const { running, settler } = this.#holders;
    return [...running.unsettled, ...settler.waiting];
  }

  /** @returns time until the next tick, in milliseconds */
  #tick(): number | undefined {
    if (this.#deliveries.length === 0) return undefined;
    if (this.#handling.handled.settings.timeout === undefined) this.#tellOverruns();
    if (!this.#renewals.running) this.#renewals.poke();
    return this.#lease / 3;
  }

  /** Never rejects. */
  async #renewAll(): Promise<void> {
    const deliveries = this.#deliveries;
    const renewals: Promise<void>[] = [];
    for (let first = 0; first < deliveries.length; first += MAX_BATCH) {
      renewals.push(this.#renewBatch(deliveries.slice(first, first + MAX_BATCH)));
    }
    await Promise.all(renewals);
  }

  async #renewBatch(deliveries: readonly Delivery[]): Promise<void> {
    const { context, leaseEnds } = this.#handling;
    const { broker, clock } = context;
    const sentAt = clock.now();
    try {
      const statuses = await splitIfRefused<Delivery, ExtendStatus | undefined>(
        deliveries,
        (some) => broker.deliveries.extend(this.#partition, this.#lease, some),
        (_, error) => this.#refused(error),
      );
      for (const [i, delivery] of deliveries.entries()) {
        if (statuses[i] === undefined) continue;
        if (statuses[i] === 'lost') delivery.abort(new DeliveryAbortedError('LEASE_LOST'));
        else delivery.leaseEndsAt = sentAt + this.#lease;
        if (statuses[i] === 'cancelled') delivery.abort(new DeliveryAbortedError('CANCELLED'));
      }
    } catch (error) {
      this.#tellError(error);
    }
    leaseEnds.check();
  }

  /** Reports a refused renewal: only that one lease ends. */
  #refused(error: unknown): undefined {
    if (!isRefused(error)) throw error;
    this.#tellError(error);
  }

  #tellError(error: unknown): void {
    const { log, events } = this.#handling.context;
    const { topic, index: partition } = this.#partition;
    events.emit('errors', { source: 'extend', topic, partition, error });
    if (!(error instanceof BrokerUnavailableError) || error.refused)
      log.error(`Renewing leases in topic '${topic}' failed`, (error as Error).stack);
  }

  /** Reports each call that runs for long without a time limit once, with all of its messages. */
  #tellOverruns(): void {
    const now = this.#handling.context.clock.now();
    const calls = new Map<Call | Delivery, Delivery[]>();
    for (const delivery of this.#holders.running.unsettled) {
      const { startedAt = now, call = delivery } = delivery;
      if (now - startedAt <= LONG_RUN * this.#lease || this.#overrun.has(delivery)) continue;
      this.#overrun.add(delivery);
      const others = calls.get(call);
      if (others) others.push(delivery);
      else calls.set(call, [delivery]);
    }
    for (const deliveries of calls.values()) this.#tellOverrun(deliveries, now);
  }

  #tellOverrun(deliveries: readonly Delivery[], now: number): void {
    // A message with a time limit of its own says how long its handler can take.
    if (deliveries.some(({ envelope }) => decodeEnvelope(envelope).timeout !== undefined)) return;
    const { context, handler } = this.#handling;
    const { topic, index: partition } = this.#partition;
    const { startedAt = now } = deliveries[0] as Delivery;
    const ids = deliveries.map(({ id }) => id);
    const error = new HandlerOverrunError(handler.name, topic, ids, now - startedAt, this.#lease);
    context.log.warn(error.message);
    context.events.emit('errors', { source: 'overrun', topic, partition, error });
  }
}
