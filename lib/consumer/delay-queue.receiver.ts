import { hostname } from 'node:os';
import { MAX_BATCH } from '../store/partition.js';
import { MAX_CONSUMER_LENGTH } from '../checks/limits.js';
import { type Rules, abortSignal, applyRules, duration, integer, orElse } from '../checks/rules.js';
import { ReceiverUnavailableError } from '../errors/operation.errors.js';
import { ConfigurationError } from '../errors/options.errors.js';
import { checkedConsumer } from '../messages/consumer-name.js';
import type { DelayQueueTopics, TopicName } from '../messages/payload-types.js';
import type { SettleStatus } from '../messages/settle-status.js';
import { type Topic, checkedTopicName } from '../messages/topic.js';
import { shareClass } from '../package-copies.js';
import type { Clock } from '../time/clock.js';
import { within } from '../time/deadline.js';
import { type Duration, parseDuration } from '../time/duration.js';
import { type Pulling, RECEIVED_LEASE } from './pulling/pulling.js';
import type { ExtendResult, ReceivedMessage } from './pulling/received-message.js';
import { ROOM, type Sharing } from './pulling/room.js';
import type { ReceivedOutcome } from './pulling/received-outcome.js';

/**
 * Options of `DelayQueueReceiver.receive()`.
 *
 * @publicApi
 */
export interface ReceiveOptions {
  /** Most messages to receive, 1 to 200. @defaultValue 1 */
  readonly max?: number;
  /** Time to wait if nothing is due, up to a day. Waiting costs Redis nothing. @defaultValue 0: only what is due now */
  readonly wait?: Duration;
  /**
   * Lease of the received messages, at least 1 s: settle them by then, or they are delivered again. 0: at most once, which always holds in
   * a topic that is set so; a message is removed before it is returned, and needs no settling. @defaultValue the module's `consumer.lease`
   */
  readonly lease?: Duration;
  /** Name of the receiver in views of the fleet; 1 to 128 characters. @defaultValue the name of the host */
  readonly consumer?: string;
  /** Ends the wait. Messages that have arrived already are given back, unless they are received at most once. */
  readonly signal?: AbortSignal;
}

export interface ReceiverDependencies {
  /** Resolves once the application has bootstrapped, with `undefined` if this process does not consume on this connection. */
  readonly booted: Promise<Pulling | undefined>;
  readonly clock: Clock;
  /** Default lease of a received message, in milliseconds; `undefined` if this process only publishes. */
  readonly lease: number | undefined;
  /** Longest time that a call waits for the application to bootstrap, in milliseconds. */
  readonly timeout: number;
}

const LONGEST_WAIT = 24 * 60 * 60 * 1000;

const RULES = {
  max: orElse(integer(1, MAX_BATCH), 1),
  wait: orElse(duration(0, LONGEST_WAIT), 0),
  lease: orElse((name, given: unknown) => (parsesToNothing(given) ? 0 : RECEIVED_LEASE(name, given)), undefined),
  consumer: orElse(checkedConsumer, hostname().slice(0, MAX_CONSUMER_LENGTH) || 'unknown'),
  signal: abortSignal,
} satisfies Rules<ReceiveOptions>;

/**
 * Receives messages on request instead of calling a handler with them: for workers that set their own pace, and for services in other
 * languages. Inject it anywhere.
 *
 * A process takes part in a topic only while a receive() runs there, and for 5 s after. In one process a topic is either handled or
 * received. Order, limits, retries and dead letters work as for handlers; a message's `timeout` and the middleware around handlers do not
 * apply.
 *
 * @example
 * ```ts
 * const [message] = await receiver.receive('image.resize', { wait: '20s', lease: '2m' });
 * if (message) {
 *   await this.resize(message.payload);
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

  /** @internal */
  constructor(dependencies: ReceiverDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Receives due messages of a topic, at once or as soon as one is due. Waiting calls are served first come, first served. Messages come in
   * one turn: fewer than `max` if no more were due then. Returns none if nothing was due in time, or the process shuts down.
   *
   * @throws InvalidArgumentError if this process handles, pushes or forwards the topic; if it is ordered, or limits what is in flight, with `lease: 0`
   * @throws ConfigurationError if this process only publishes, or the topic has another number of partitions than it is configured with
   * @throws ReceiverUnavailableError if the application does not bootstrap in time, or shuts down
   * @throws BrokerUnavailableError if Redis does not answer; also at the end of a wait in which it did not
   * @throws the reason of `signal`, if that aborts
   */
  async receive<T, N extends TopicName = TopicName>(
    topic: Topic<unknown, T> | N,
    options: ReceiveOptions = {},
  ): Promise<ReceivedMessage<[N] extends [keyof DelayQueueTopics] ? DelayQueueTopics[N] : T>[]> {
    const { lease = this.#dependencies.lease ?? 0, ...request } = applyRules(
      RULES,
      'The options of receive()',
      options,
      '',
    );
    checkedTopicName(topic);
    const pulling = await this.#pulling(request.wait);
    const messages = await pulling.receive(topic, { ...request, lease, room: (options as Sharing)[ROOM] });
    return messages as ReceivedMessage<never>[];
  }

  /**
   * Settles a message that this or another process has received.
   *
   * @returns `'settled'`; `'stale'` if its lease had ended and the message was delivered again, or is settled already; `'cancelled'` or
   * `'replaced'` if that happened to the message meanwhile, so no retry follows
   * @throws InvalidArgumentError if the receipt or the outcome is not valid: nothing was sent
   * @throws BrokerUnavailableError if Redis did not confirm it within `publishTimeout`; it is sent until confirmed, so it can still take
   * effect
   * @throws ReceiverUnavailableError as {@link receive}
   */
  async settle(receipt: string, outcome: ReceivedOutcome): Promise<SettleStatus> {
    return (await this.#pulling()).settle(receipt, outcome);
  }

  /**
   * Renews the lease of a message that this or another process has received: it lasts for `lease` from now on.
   *
   * @param lease at least 1 s
   * @throws InvalidArgumentError, BrokerUnavailableError, ReceiverUnavailableError as {@link settle}
   */
  async extend(receipt: string, lease: Duration): Promise<ExtendResult> {
    return (await this.#pulling()).extend(receipt, lease);
  }

  /** @param wait time that the caller waits in any case, in milliseconds */
  async #pulling(wait = 0): Promise<Pulling> {
    const { booted, clock, lease, timeout } = this.#dependencies;
    if (lease === undefined) throw onlyPublishes();
    const pulling = await within(clock, Math.max(wait, timeout), booted, { error: notBooted });
    if (!pulling) throw onlyPublishes();
    return pulling;
  }
}

function notBooted(): ReceiverUnavailableError {
  return new ReceiverUnavailableError(
    'The application has not bootstrapped yet, and nothing is received before. So no hook of its boot may await receive().',
  );
}

function onlyPublishes(): ConfigurationError {
  return new ConfigurationError(
    `Nothing can be received or settled: this process only publishes on this connection. Leave 'consumer: false' out to receive.`,
  );
}

function parsesToNothing(given: unknown): boolean {
  try {
    return parseDuration('lease', given) === 0;
  } catch {
    return false;
  }
}
