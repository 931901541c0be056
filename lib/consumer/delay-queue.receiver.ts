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
 * How messages are received.
 *
 * @publicApi
 */
export interface ReceiveOptions {
  /** Most messages that are given, 1 to 200. @defaultValue 1 */
  readonly max?: number;
  /** How long to wait if nothing is due, up to a day. Waiting costs Redis nothing. @defaultValue 0: only what is due now */
  readonly wait?: Duration;
  /**
   * For how long what is received belongs to its receiver, at least 1 s: settled by then, or delivered again. 0: at most once, as all of a
   * topic that is set so is received; a message is gone before it is given, and need not be settled. @defaultValue the module's
   * `consumer.lease`
   */
  readonly lease?: Duration;
  /** Names whoever receives, where the fleet is looked at; 1 to 128 characters. @defaultValue the name of the host */
  readonly consumer?: string;
  /** Ends the wait. What has come already is given back, unless it is received at most once. */
  readonly signal?: AbortSignal;
}

export interface ReceiverDependencies {
  /** Resolves once the application has bootstrapped; with `undefined` if this process does not consume on this connection. */
  readonly booted: Promise<Pulling | undefined>;
  readonly clock: Clock;
  /** By default a message belongs to its receiver for so long, in milliseconds; `undefined`: this process only publishes. */
  readonly lease: number | undefined;
  /** How long a call may wait for the application to bootstrap, in milliseconds. */
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
 * Receives messages when it is asked to, where a handler would be called with them: for workers with a rhythm of their own, and for services
 * in other languages. Inject it anywhere.
 *
 * A process has to do with a topic only while somebody receives there, and for 5 s after. In one process a topic is either handled or
 * received. Order, limits, retries and dead letters are as for handlers; a message's `timeout` and the middleware around handlers are not
 * for those who receive.
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
   * Receives messages of a topic that are due, at once or as soon as one is. Those who wait are served first come, first served. If messages
   * come, they are given in one turn: fewer than `max` if no more were due then. Returns none if nothing was due in time, or the process
   * shuts down.
   *
   * @throws InvalidArgumentError if this process handles, pushes or forwards the topic; if it is ordered, or limits what is in flight, with `lease: 0`
   * @throws ConfigurationError if this process only publishes, or the topic has another number of partitions than it is configured with
   * @throws ReceiverUnavailableError if the application has not bootstrapped in time, or shuts down
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
   * Settles a message that was received, here or in another process.
   *
   * @returns `'settled'`; `'stale'` if its lease had ended and the message was delivered again, or is settled already; `'cancelled'` or
   * `'replaced'` if that has happened to the message meanwhile, so a retry does not follow
   * @throws InvalidArgumentError if it is no receipt, or no outcome: nothing was sent
   * @throws BrokerUnavailableError if it was not confirmed within `publishTimeout`; it is sent until it is, so it may take effect yet
   * @throws ReceiverUnavailableError as {@link receive}
   */
  async settle(receipt: string, outcome: ReceivedOutcome): Promise<SettleStatus> {
    return (await this.#pulling()).settle(receipt, outcome);
  }

  /**
   * Has the lease of a message that was received, here or in another process, last from now on for so long.
   *
   * @param lease at least 1 s
   * @throws InvalidArgumentError, BrokerUnavailableError, ReceiverUnavailableError as {@link settle}
   */
  async extend(receipt: string, lease: Duration): Promise<ExtendResult> {
    return (await this.#pulling()).extend(receipt, lease);
  }

  /** @param wait how long the caller waits in any case, in milliseconds */
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
