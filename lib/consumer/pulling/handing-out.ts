import { serveWithin } from '../../store/calls/serve.js';
import { BrokerUnavailableError } from '../../errors/operation.errors.js';
import type { ActiveBackoff } from '../../fleet/topic-settings.interface.js';
import { within } from '../../time/deadline.js';
import type { ConsumerContext } from '../consumer-context.js';
import type { CheckedDelivery, Delivery } from '../delivery/delivery.js';
import type { TakenDeliveries } from '../delivery/taken-deliveries.js';
import { ACKED, RELEASED } from '../delivery/verdict.js';
import type { TopicConsumer } from '../ownership/topic-consumer.js';
import { encodeReceipt } from './receipt.js';
import { type ReceiptDesk, ReceivedMessage } from './received-message.js';
import { Room } from './room.js';

/** Result of a receive(). */
export interface Received {
  readonly consumer: TopicConsumer;
  readonly deliveries: readonly CheckedDelivery[];
  /** Milliseconds; 0 if they are acknowledged before they are returned. */
  readonly lease: number;
}

/** Most that the lease of the claim can differ from the requested one, in milliseconds and as a share of it. */
const TOLERANCE = 1000;
const TOLERATED_SHARE = 0.1;

export interface HandingOutOptions {
  readonly context: ConsumerContext;
  /** Time limit for a call to Redis, in milliseconds. */
  readonly timeout: number;
}

/** Gives messages to the receivers that asked for them, each with a receipt and the requested lease. */
export class HandingOut {
  readonly #options: HandingOutOptions;
  readonly #desk: ReceiptDesk;

  /** @param desk settles the messages */
  constructor(options: HandingOutOptions, desk: ReceiptDesk) {
    this.#options = options;
    this.#desk = desk;
  }

  /**
   * @param signal if it has aborted, all messages that can still be given back are
   * @param room messages beyond it are given back; shared with other calls
   * @throws BrokerUnavailableError if no message can be given because Redis does not answer
   */
  async give(
    { consumer, deliveries: received, lease }: Received,
    signal: AbortSignal,
    room = new Room(Infinity),
  ): Promise<ReceivedMessage[]> {
    const { context } = this.#options;
    const { backoff } = consumer.settings;
    const most = signal.aborted ? 0 : room.take(received.length);
    for (const delivery of received.slice(most)) giveBack(consumer.takenOf(delivery.partition.index), delivery);
    const deliveries = received.slice(0, most);
    const isOnce = lease === 0;
    const giving = Array.from(byPartition(deliveries), async ([index, part]) => {
      const taken = consumer.takenOf(index);
      return isOnce ? this.#acknowledge(taken, part) : this.#lease(taken, part, lease);
    });
    const results = await Promise.allSettled(giving);
    const given = new Set(results.flatMap((result) => (result.status === 'fulfilled' ? result.value : [])));
    room.putBack(most - given.size);
    const failed = results.find((result) => result.status === 'rejected');
    if (given.size === 0 && failed) throw failed.reason;
    for (const delivery of isOnce ? [] : given) {
      // After a standstill of the process, an answer may confirm a lease that has ended by then.
      if (!signal.aborted && delivery.endsAt > context.clock.now()) continue;
      giveBack(consumer.takenOf(delivery.partition.index), delivery);
      given.delete(delivery);
      room.putBack(1);
    }
    return deliveries.filter((one) => given.has(one)).map((one) => this.#message(one, backoff, lease));
  }

  /** Returns the acknowledged messages. The others are not given, since they may come again. */
  async #acknowledge(taken: TakenDeliveries, part: readonly CheckedDelivery[]): Promise<CheckedDelivery[]> {
    const { context, timeout } = this.#options;
    const settling = Promise.all(part.map((delivery) => taken.settle(delivery, ACKED)));
    const statuses = await within(context.clock, timeout, settling, { error: mayBeLost });
    return part.filter((_, i) => statuses[i] === 'settled');
  }

  /** Gives messages the requested lease; those that cannot have it are given back. */
  async #lease(
    taken: TakenDeliveries,
    part: readonly CheckedDelivery[],
    lease: number,
  ): Promise<readonly CheckedDelivery[]> {
    const { context, timeout } = this.#options;
    const { clock } = context;
    const until = clock.now() + lease;
    const tolerance = Math.min(TOLERANCE, lease * TOLERATED_SHARE);
    const others = part.filter(({ leaseEndsAt }) => Math.abs(leaseEndsAt - until) > tolerance);
    if (others.length === 0) return part;
    try {
      const statuses = await serveWithin(clock, timeout, () => taken.extend(others, lease));
      const lost = new Set(others.filter((_, i) => statuses[i] !== 'extended'));
      for (const delivery of lost) giveBack(taken, delivery);
      return part.filter((delivery) => !lost.has(delivery));
    } catch (error) {
      for (const delivery of part) giveBack(taken, delivery);
      const { topic, index: partition } = taken.partition;
      context.events.emit('errors', { source: 'extend', topic, partition, error });
      throw error;
    }
  }

  /** @param usual backoff of the topic */
  #message(delivery: CheckedDelivery, usual: ActiveBackoff, lease: number): ReceivedMessage {
    const { context } = this.#options;
    const { partition, storedId, token, attempt, weight, permits, message, backoff } = delivery;
    const receipt = encodeReceipt({
      partition,
      storedId,
      token,
      attempt,
      maxAttempts: message.maxAttempts,
      receivedAt: Math.round(context.broker.now(partition)),
      backoff: typeof backoff === 'function' || backoff === usual ? undefined : backoff,
      holder: weight > 0 || permits?.isRenewed ? context.session : undefined,
    });
    return new ReceivedMessage(message, { receipt, lease }, this.#desk);
  }
}

function mayBeLost(): BrokerUnavailableError {
  return new BrokerUnavailableError(
    'Redis does not answer, so messages that were to be received at most once may be lost',
  );
}

/** The settle goes on in the background. */
function giveBack(taken: TakenDeliveries, delivery: Delivery): void {
  void taken.settle(delivery, RELEASED);
}

function byPartition(deliveries: readonly CheckedDelivery[]): Map<number, CheckedDelivery[]> {
  const parts = new Map<number, CheckedDelivery[]>();
  for (const one of deliveries) {
    const { index } = one.partition;
    const part = parts.get(index);
    if (part) part.push(one);
    else parts.set(index, [one]);
  }
  return parts;
}
