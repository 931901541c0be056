import { type ExtendStatus, MAX_BATCH } from '../broker/broker.interface.js';
import { serveWithin } from '../broker/serve.js';
import { describe } from '../checks/describe.js';
import { MAX_DELAY, MIN_LEASE } from '../checks/limits.js';
import { assertInteger, assertOptions, isPlainObject } from '../checks/validate.js';
import type { ConsumerContext, ConsumerSettings } from '../consumer/consumer-context.js';
import type { ConsumerRuntime } from '../consumer/consumer.runtime.js';
import type { CheckedDelivery } from '../consumer/delivery-check.js';
import { IntakeOvertakenError } from '../errors/operation.errors.js';
import { ConfigurationError, InvalidArgumentError } from '../errors/options.errors.js';
import type { HandledPayload, NamedTopic } from '../messages/payload-types.js';
import type { SettleStatus } from '../messages/settle-status.js';
import { type TopicRef, checkedTopicName, schemaOf } from '../messages/topic.js';
import { shareClass } from '../package-copies.js';
import { type Duration, parseDuration } from '../time/duration.js';
import type { TopicRegistry } from '../topics/topic.registry.js';
import { HeldPermits } from './held-permits.js';
import { PulledTopic } from './pulled-topic.js';
import { type DecidedReceipt, type Decision, ReceiptSettler } from './receipt-settler.js';
import { decodeReceipt, encodeReceipt } from './receipts.js';
import { receiveInOrder } from './receive-in-order.js';
import { Received } from './received.js';
import type { ReceiptOutcome, ReceivedMessage } from './received-message.js';

/**
 * How messages are received.
 *
 * @publicApi
 */
export interface ReceiveOptions {
  /** Most messages, 1 to 200. @defaultValue 1 */
  max?: number;
  /** Longest time to wait for the first message, up to an hour; 0: what is due now. @defaultValue '20s' */
  wait?: Duration;
  /**
   * For how long the messages belong to whoever receives them, at least 1 s; then they come again, unless they were settled or their lease
   * was extended. 0: they are delivered at most once, and gone when they are received. @defaultValue `consumer.lease`
   */
  lease?: Duration;
  /** Ends the waiting, with nothing. @defaultValue none */
  signal?: AbortSignal | undefined;
}

/**
 * A receipt and what is to become of its message, for `DelayQueueReceiver.settleMany()`.
 *
 * @publicApi
 */
export interface ReceiptSettlement {
  readonly receipt: string;
  readonly outcome: ReceiptOutcome;
}

export interface ReceiverDependencies {
  readonly context: ConsumerContext;
  readonly topics: TopicRegistry;
  /** `undefined`: this process only publishes. */
  readonly consumer: ConsumerSettings | undefined;
  /** `undefined` before the application has bootstrapped. */
  readonly runtime: () => ConsumerRuntime | undefined;
  /** Whether a topic has a handler in this process. */
  readonly isHandled: (topic: string) => boolean;
  /** Longest time for an answer, in milliseconds. */
  readonly timeout: number;
}

/** Some of the receipts that are settled together: those of one partition. */
interface SettlePart {
  readonly decided: readonly DecidedReceipt[];
  readonly indexes: readonly number[];
  readonly statuses: SettleStatus[];
}

const OPTIONS = ['max', 'wait', 'lease', 'signal'] as const;
const OUTCOMES = ['ack', 'retry', 'dead', 'release'] as const;
const DEFAULT_WAIT = '20s';
const MAX_WAIT = 3_600_000;

/**
 * Receives messages when the application asks for them, in place of a handler: for work that has its own pace, or that something else does.
 * Whoever has a receipt can settle its message, in any process. Inject it anywhere.
 *
 * While somebody receives from a topic, and 5 s after, this process holds its share of the partitions; waiting costs nothing. Checks, order,
 * limits, leases, retries and dead letters are those of handlers.
 *
 * @example
 * ```ts
 * const messages = await receiver.receive('invoice.send', { max: 10, wait: '20s', lease: '1m' });
 * for (const message of messages) {
 *   await send(message.payload);
 *   await message.ack();
 * }
 * ```
 *
 * @publicApi
 */
export class DelayQueueReceiver {
  static {
    shareClass('DelayQueueReceiver', this);
  }

  readonly #dependencies: ReceiverDependencies;
  readonly #settler: ReceiptSettler;
  readonly #permits: HeldPermits;
  readonly #pulled = new Map<string, PulledTopic>();
  #isClosed = false;

  /** @internal */
  constructor(dependencies: ReceiverDependencies) {
    this.#dependencies = dependencies;
    const { context, topics, timeout, runtime } = dependencies;
    this.#settler = new ReceiptSettler({
      context,
      topics,
      timeout,
      notifier: () => runtime()?.notifier,
      meter: (topic) => runtime()?.meter(topic),
    });
    this.#permits = new HeldPermits(context);
  }

  /**
   * Waits until there are messages, and receives those that are due, as many as are wanted at most: at once if there are some. What is
   * received and not settled comes again when its lease ends.
   *
   * @param topic several: what is due in an earlier one comes first
   * @returns none if none was due within `wait`, or the shutdown of this process has begun meanwhile
   * @throws InvalidArgumentError also if this process handles, pushes or forwards the topic, or if `lease: 0` is asked for and the topic is ordered
   *   or has `maxInFlight`
   * @throws ConfigurationError if this process only publishes, the application has not bootstrapped, or the topic has another number of
   *   partitions or another protocol
   * @throws BrokerUnavailableError if Redis does not let this process take partitions within `wait`, and 5 s at least
   * @throws IntakeOvertakenError if it is called after the shutdown has begun
   */
  async receive<R extends NamedTopic>(
    topic: R | readonly R[],
    options: ReceiveOptions = {},
  ): Promise<ReceivedMessage<HandledPayload<R>>[]> {
    const wanted = checkedTopics(topic).map(({ name, topic: one }) => ({
      name,
      request: this.#requestOf(name, options),
      pulled: this.#pulledTopic(name, one),
    }));
    await Promise.all(wanted.map(async ({ name, request }) => this.#assertLease(name, request.lease)));
    const [{ pulled, request }] = wanted as [(typeof wanted)[number]];
    const { clock } = this.#dependencies.context;
    const received = wanted.length === 1 ? await pulled.receive(request) : await receiveInOrder(clock, wanted);
    return received.map((one) => this.#toReceived(one) as ReceivedMessage<HandledPayload<R>>);
  }

  /**
   * Settles a message that was received, in this process or in another one.
   *
   * @returns `'stale'` if nothing was changed: it was settled before, or its lease had ended and it was delivered again
   * @throws InvalidArgumentError, BrokerUnavailableError
   */
  async settle(receipt: string, outcome: ReceiptOutcome): Promise<SettleStatus> {
    const [status] = await this.settleMany([{ receipt, outcome }]);
    return status as SettleStatus;
  }

  /**
   * Settles many, with one call for each partition.
   *
   * @param options `once` names the operation: made again within two minutes, in whichever process, it gets its first answer, where it
   *   would be `'stale'` otherwise
   * @returns a status for each, in their order
   * @throws InvalidArgumentError if one of them is wrong: nothing was sent
   * @throws BrokerUnavailableError if some were not confirmed in time; the others are settled
   */
  async settleMany(
    settlements: readonly ReceiptSettlement[],
    { once }: { once?: string } = {},
  ): Promise<SettleStatus[]> {
    const settler = once === undefined ? this.#settler : this.#settler.once(once);
    const decided = settlements.map(toDecided);
    const statuses = decided.map((): SettleStatus => 'stale');
    const groups = new Map<string, number[]>();
    decided.forEach((one, i) => groups.set(placeOf(one), [...(groups.get(placeOf(one)) ?? []), i]));
    await Promise.all(
      Array.from(groups.values(), async (indexes) => {
        for (let first = 0; first < indexes.length; first += MAX_BATCH) {
          await this.#settle(settler, { decided, indexes: indexes.slice(first, first + MAX_BATCH), statuses });
        }
      }),
    );
    return statuses;
  }

  /**
   * The lease of a message ends so long after now.
   *
   * @param lease at least 1 s
   * @returns `'lost'` if it had ended, or the message was settled; `'cancelled'` if it was cancelled meanwhile: then it comes no more
   * @throws InvalidArgumentError, BrokerUnavailableError
   */
  async extend(receipt: string, lease: Duration): Promise<ExtendStatus> {
    const { partition, isGone, ...received } = decodeReceipt(receipt);
    const length = parseDuration('lease', lease, { min: MIN_LEASE, max: MAX_DELAY });
    if (isGone || !(await this.#settler.knows(partition))) return 'lost';
    const { context, timeout } = this.#dependencies;
    const [status] = await serveWithin(context.clock, timeout, () =>
      context.broker.extend(partition, length, [received]),
    );
    return status ?? 'lost';
  }

  /**
   * Answers whoever waits; nothing is received any more.
   *
   * @internal
   */
  close(): void {
    this.#isClosed = true;
    for (const pulled of this.#pulled.values()) pulled.close();
    this.#permits.close();
  }

  async #settle(settler: ReceiptSettler, { decided, indexes, statuses }: SettlePart): Promise<void> {
    const some = indexes.map((i) => decided[i] as DecidedReceipt);
    const [{ received }] = some as [DecidedReceipt];
    const answers = await settler.settle(received.partition, some);
    indexes.forEach((i, n) => {
      statuses[i] = answers[n] as SettleStatus;
      this.#permits.free((some[n] as DecidedReceipt).received.token);
    });
  }

  #requestOf(topic: string, options: ReceiveOptions) {
    const { consumer, topics } = this.#dependencies;
    if (!consumer) {
      throw new ConfigurationError(
        `Topic '${topic}' cannot be received from: this process only publishes on this connection. Leave 'consumer: false' out.`,
      );
    }
    assertOptions('The options of receive', options, OPTIONS);
    const { max = 1, wait = DEFAULT_WAIT, lease = consumer.lease, signal } = options;
    assertInteger('max', max, { min: 1, max: MAX_BATCH });
    const isOnce = topics.settings(topic).delivery === 'at-most-once';
    return {
      max,
      wait: parseDuration('wait', wait, { max: MAX_WAIT }),
      lease: isOnce ? 0 : toLease(lease),
      signal: checkedSignal(signal),
    };
  }

  #pulledTopic(name: string, topic: TopicRef): PulledTopic {
    const { context, consumer, topics, runtime, isHandled } = this.#dependencies;
    if (isHandled(name)) {
      throw new InvalidArgumentError(
        `Topic '${name}' has a handler in this process, or is pushed or forwarded by it, so it cannot be received from here as well. Do one ` +
          `of both in another process.`,
      );
    }
    if (this.#isClosed) throw new IntakeOvertakenError(name, 'start', 'shutdown');
    const started = runtime();
    if (!started) {
      throw new ConfigurationError(
        `Topic '${name}' cannot be received from before the application has bootstrapped. Call receive() from onApplicationBootstrap() on.`,
      );
    }
    let pulled = this.#pulled.get(name);
    if (!pulled) {
      const settings = { ...topics.settings(name), lease: consumer?.lease ?? 0 };
      const handled = { topic: name, schema: schemaOf(topic), settings, adopts: true };
      this.#pulled.set(name, (pulled = new PulledTopic({ context, handled, runtime: started })));
    }
    return pulled;
  }

  /** What is gone when it is received cannot keep its place in an order, nor be in flight. */
  async #assertLease(topic: string, lease: number): Promise<void> {
    if (lease > 0) return;
    const { topics, context, timeout } = this.#dependencies;
    if (topics.knownPartitions(topic) === undefined) {
      await serveWithin(context.clock, timeout, () => topics.partitions(topic));
    }
    const limits = topics.limits(topic);
    const what =
      topics.knownOrder(topic) !== undefined
        ? 'is ordered'
        : limits?.inFlight !== undefined
          ? 'has maxInFlight'
          : undefined;
    if (what === undefined) return;
    throw new InvalidArgumentError(`lease must not be 0 for topic '${topic}', which ${what}: give it a lease.`);
  }

  #toReceived(checked: CheckedDelivery): Received {
    const { broker, clock } = this.#dependencies.context;
    const { delivery } = checked;
    const { partition, storedId, token, attempt, isGone, leaseEndsAt } = delivery;
    const now = broker.now(partition);
    this.#permits.hold(delivery);
    const receipt = encodeReceipt({ partition, storedId, token, attempt, receivedAt: now, isGone });
    return new Received(checked, receipt, now + leaseEndsAt - clock.now(), this);
  }
}

/** @throws InvalidArgumentError also if there is none, or one twice */
function checkedTopics<R extends NamedTopic>(given: R | readonly R[]): { name: string; topic: R }[] {
  const topics = (Array.isArray(given) ? given : [given]) as readonly R[];
  const names = topics.map(checkedTopicName);
  if (names.length === 0 || new Set(names).size < names.length) {
    throw new InvalidArgumentError(`topic must be a topic, or several, each of them once. Given: ${describe(names)}.`);
  }
  return topics.map((topic, i) => ({ name: names[i] as string, topic }));
}

function toLease(lease: unknown): number {
  const length = parseDuration('lease', lease, { max: MAX_DELAY });
  return length === 0 ? 0 : parseDuration('lease', lease, { min: MIN_LEASE, max: MAX_DELAY });
}

function checkedSignal(signal: unknown): AbortSignal | undefined {
  if (signal === undefined || signal instanceof AbortSignal) return signal;
  throw new InvalidArgumentError(`signal must be an AbortSignal. Given: ${describe(signal)}.`);
}

function placeOf({ received: { partition } }: DecidedReceipt): string {
  return `${partition.topic} ${partition.index}`;
}

/** @throws InvalidArgumentError */
function toDecided({ receipt, outcome }: ReceiptSettlement): DecidedReceipt {
  return { received: decodeReceipt(receipt), decision: toDecision(outcome) };
}

/** @throws InvalidArgumentError */
function toDecision(given: unknown): Decision {
  const named = isPlainObject(given) ? given : { outcome: given };
  const { outcome, error, delay, reason } = named;
  switch (outcome) {
    case 'ack':
    case 'release':
      assertOptions('The outcome', named, ['outcome']);
      return { kind: outcome };
    case 'retry':
      assertOptions('The outcome', named, ['outcome', 'error', 'delay']);
      return {
        kind: 'retry',
        error: toError(error ?? 'Its receiver has asked for another attempt'),
        delay: delay === undefined ? undefined : parseDuration('delay', delay, { max: MAX_DELAY }),
      };
    case 'dead':
      assertOptions('The outcome', named, ['outcome', 'reason']);
      return { kind: 'dead', error: toError(reason ?? 'Its receiver has given it up') };
    default:
      throw new InvalidArgumentError(
        `outcome must be one of ${OUTCOMES.map((one) => `'${one}'`).join(', ')}, or an object with one. Given: ${describe(outcome)}.`,
      );
  }
}

/** A text is what an error says; where it was made here tells nothing. */
function toError(given: unknown): unknown {
  if (typeof given !== 'string') return given;
  const error = new Error(given);
  delete error.stack;
  return error;
}
