import { v7 as uuidv7 } from 'uuid';
import { MAX_BATCH, type Broker, type CancelResult } from '../broker/broker.interface.js';
import { MessageChanges } from '../topics/message-changes.js';
import type { Clock } from '../time/clock.js';
import { shareClass } from '../copies.js';
import type { Duration } from '../time/duration.js';
import { serveWithin } from '../time/serve-within.js';
import { assertInteger, assertOneOf, assertOptions } from '../checks/validate.js';
import { DeadLetterOperator } from './dead-letter.operator.js';
import type { DeadLetterGroups } from './dead-letter-groups.interface.js';
import type {
  DeadLetterFilter,
  RemoveOptions,
  RemoveResult,
  RequeueOptions,
  RequeueResult,
} from './dead-letter-options.interface.js';
import { assertMessageName } from '../messages/assert-id.js';
import type { PayloadSerializer } from '../messages/serializer.js';
import { type TopicRef, checkedTopicName } from '../messages/topic.js';
import { assertClearOptions } from './assert-clear-options.js';
import type { ClearCounts, ClearOptions } from './clear-options.interface.js';
import { clearTopic } from './clear-topic.js';
import { editPayload } from './edit-payload.js';
import { existingPartitions, partitionCount } from './existing-partitions.js';
import { findMessage } from './find-message.js';
import { decodeCursor } from './peek-cursor.js';
import { countTopic } from './topic-counter.js';
import { listTopic } from './topic-listing.js';
import type { MessageDetails, PeekOptions, PeekPage, PeekState, TopicStats } from './topic-stats.interface.js';

const PEEK_STATES: readonly PeekState[] = ['scheduled', 'due', 'in-flight', 'dead'];
const DEFAULT_PAGE = 50;

export interface AdminDependencies {
  readonly broker: Broker;
  readonly clock: Clock;
  /** Longest time for an answer, in milliseconds. */
  readonly timeout: number;
  /** What makes the payloads of a topic readable; `undefined`: they are plain JSON. */
  readonly serializerOf: (topic: string) => PayloadSerializer | undefined;
}

/**
 * Looks into topics, and acts on what they hold: messages that wait, and dead letters. Inject it anywhere.
 *
 * Where a method takes a message's id without its key, the message is looked for in the id's own partition first, then in
 * the others.
 *
 * @publicApi
 */
export class DelayQueueAdmin {
  static {
    shareClass('DelayQueueAdmin', this);
  }

  readonly #dependencies: AdminDependencies;
  readonly #changes: MessageChanges;
  readonly #deadLetters: DeadLetterOperator;

  /** @internal */
  constructor(dependencies: AdminDependencies) {
    this.#dependencies = dependencies;
    const { broker, clock, timeout, serializerOf } = dependencies;
    const partitionsOf = (topic: string): Promise<number | undefined> =>
      this.#served(() => partitionCount(broker, topic));
    this.#changes = new MessageChanges({ store: broker, clock, timeout, caller: `${uuidv7()}:change`, partitionsOf });
    this.#deadLetters = new DeadLetterOperator({ store: broker, clock, timeout, serializerOf });
  }

  /**
   * The topics that were ever used under this prefix, sorted. One that has been empty for long is among them.
   *
   * @throws BrokerUnavailableError
   */
  async topics(): Promise<string[]> {
    return this.#served((broker) => broker.topics());
  }

  /**
   * Counts what a topic holds; one short call a partition. A topic that was never used has no partitions.
   *
   * @throws InvalidArgumentError, BrokerUnavailableError
   */
  async stats(topic: TopicRef): Promise<TopicStats> {
    const name = checkedTopicName(topic);
    return this.#served((broker) => countTopic(broker, name));
  }

  /**
   * Looks a message up.
   *
   * @throws InvalidArgumentError, BrokerUnavailableError
   */
  async get(topic: TopicRef, id: string | { id: string; key: string }): Promise<MessageDetails | undefined> {
    const name = checkedTopicName(topic);
    assertMessageName(id);
    return this.#served((broker) => findMessage(broker, name, id, this.#dependencies.serializerOf(name)));
  }

  /**
   * Lists messages of one state, page by page: waiting ones in order of due time, those in flight in order of the end of
   * their lease, dead letters in order of their death; over all partitions. Each page is read in short calls. What is in the
   * state and keeps its place all along is listed exactly once, whatever else comes and goes meanwhile; what is moved
   * (rescheduled, or its lease renewed) may be listed twice, or not at all where it moves to a place that was listed already.
   *
   * @example
   * ```ts
   * let cursor: string | undefined;
   * do {
   *   const page = await admin.peek('order.timeout', 'dead', { limit: 100, cursor });
   *   for (const { id, at, failure } of page.messages) console.log(at, id, failure?.message);
   *   cursor = page.cursor;
   * } while (cursor !== undefined);
   * ```
   *
   * @throws InvalidArgumentError also where the cursor is not one that was returned for this topic and state
   * @throws BrokerUnavailableError
   */
  async peek(topic: TopicRef, state: PeekState, options: PeekOptions = {}): Promise<PeekPage> {
    const name = checkedTopicName(topic);
    assertOneOf('state', state, PEEK_STATES);
    assertOptions('The options of peek', options, ['limit', 'cursor']);
    const { limit = DEFAULT_PAGE, cursor } = options;
    assertInteger('limit', limit, { min: 1, max: MAX_BATCH });
    const serializer = this.#dependencies.serializerOf(name);
    const start = cursor === undefined ? new Map() : decodeCursor(cursor, name, state);
    return this.#served((broker) => listTopic(broker, { topic: name, state, limit, start, serializer }));
  }

  /**
   * Cancels a message. One that is being handled has its `signal` aborted and is not retried.
   *
   * @returns `'not-found'` also for a dead letter
   * @throws InvalidArgumentError, BrokerUnavailableError
   * @throws ConfigurationError where the topic speaks another protocol
   */
  async cancel(topic: TopicRef, id: string | { id: string; key: string }): Promise<CancelResult> {
    return this.#changes.cancel(topic, id);
  }

  /**
   * Moves a message that waits to another time, as `DelayQueueProducer.reschedule()` does.
   *
   * @returns whether it was moved; `false` where there is no such message, or it is in flight or a dead letter
   * @throws InvalidArgumentError, BrokerUnavailableError
   * @throws ConfigurationError where the topic speaks another protocol
   */
  async reschedule(
    topic: TopicRef,
    id: string | { id: string; key: string },
    when: { delay: Duration } | { deliverAt: Date | number },
  ): Promise<boolean> {
    return this.#changes.reschedule(topic, id, when);
  }

  /**
   * Makes a message that waits due now. One that is due already keeps its time, and so its place before others.
   *
   * @returns whether it waits and is due; `false` where there is no such message, or it is in flight or a dead letter
   * @throws InvalidArgumentError, BrokerUnavailableError
   * @throws ConfigurationError where the topic speaks another protocol
   */
  async runNow(topic: TopicRef, id: string | { id: string; key: string }): Promise<boolean> {
    const { broker } = this.#dependencies;
    const result = await this.#changes.change(topic, id, (partition, call, storedId) =>
      broker.runNow(partition, call, storedId),
    );
    return result === 'rescheduled';
  }

  /**
   * Gives a message that waits another payload. Its due time, headers, options and attempts stay as they are. No schema is
   * looked at here; where the topic has one, it is checked before delivery. If the message was published with a serializer,
   * the admin needs it too.
   *
   * @returns whether it was edited; `false` where there is no such message, or it is in flight or a dead letter
   * @throws InvalidArgumentError, SerializationError, PayloadTooLargeError: nothing was changed
   * @throws BrokerUnavailableError where it was not confirmed in time
   * @throws ConfigurationError where the topic speaks another protocol
   */
  async edit(topic: TopicRef, id: string | { id: string; key: string }, payload: unknown): Promise<boolean> {
    const name = checkedTopicName(topic);
    const { broker, serializerOf } = this.#dependencies;
    return editPayload(broker, this.#changes, { topic: name, id, payload, serializer: serializerOf(name) });
  }

  /**
   * Schedules dead letters again, with all their attempts before them: one by its id, or by id and key, or all that a
   * filter fits. Payload, headers and options stay as they are, deliveries count on. They go in steps of at most 200 of a
   * partition, by turns, so that no call takes long however many there are. An id without its key is looked for in its own
   * partition first, then in the others.
   *
   * @example
   * ```ts
   * await admin.requeue('order.timeout', '42', { payload: { orderId: '42', currency: 'EUR' } });
   * const { matched } = await admin.requeue('order.timeout', { reason: 'failed' }, { dryRun: true });
   * await admin.requeue('order.timeout', { reason: 'failed', since: Date.now() - 3_600_000 }, { rate: 50 });
   * ```
   *
   * @param which `{}` means every dead letter
   * @throws InvalidArgumentError, SerializationError, PayloadTooLargeError, InvalidPayloadError, SchemaError: nothing was sent
   * @throws BrokerUnavailableError where a step was not confirmed in time; those before it have taken effect
   */
  async requeue(
    topic: TopicRef,
    which: string | { id: string; key: string } | DeadLetterFilter,
    options: RequeueOptions = {},
  ): Promise<RequeueResult> {
    return this.#deadLetters.requeue(topic, which, options);
  }

  /**
   * Groups the dead letters of a topic by what they died of. It reads all of them, page by page, so it takes a while where
   * there are very many; nothing is blocked meanwhile.
   *
   * @example
   * ```ts
   * const { groups } = await admin.deadLetterGroups('order.timeout');
   * for (const { count, name, pattern, lastAt } of groups) console.log(count, `${name}: ${pattern}`, lastAt);
   * await admin.requeue('order.timeout', { fingerprint: groups[0].fingerprint }, { rate: 50 });
   * ```
   *
   * @throws InvalidArgumentError, BrokerUnavailableError
   */
  async deadLetterGroups(topic: TopicRef): Promise<DeadLetterGroups> {
    return this.#deadLetters.groups(topic);
  }

  /**
   * Removes dead letters for good: one by its id, or by id and key, or all that a filter fits; in steps, like
   * {@link requeue}.
   *
   * @param which `{}` means every dead letter
   * @throws InvalidArgumentError: nothing was sent
   * @throws BrokerUnavailableError where a step was not confirmed in time; those before it have taken effect
   */
  async remove(
    topic: TopicRef,
    which: string | { id: string; key: string } | DeadLetterFilter,
    options: RemoveOptions = {},
  ): Promise<RemoveResult> {
    return this.#deadLetters.remove(topic, which, options);
  }

  /**
   * Removes every message that waits, those that wait for their next attempt among them. What is in flight or dead stays.
   * It goes in steps of at most 100, so no call takes long. What is published meanwhile may be removed as well: to empty a
   * topic for good, stop its publishers first.
   *
   * @example
   * ```ts
   * const { matched } = await admin.drain('order.timeout', { dryRun: true });
   * if (matched < 1000) await admin.drain('order.timeout');
   * ```
   *
   * @throws InvalidArgumentError also where the topic was never used
   * @throws BrokerUnavailableError where a step was not confirmed in time; those before it have taken effect
   * @throws ConfigurationError where the topic speaks another protocol
   */
  async drain(topic: TopicRef, options: ClearOptions = {}): Promise<ClearCounts> {
    return this.#clear(topic, 'scheduled', options);
  }

  /**
   * Removes every dead letter, in steps as {@link drain} does.
   *
   * @throws InvalidArgumentError also where the topic was never used
   * @throws BrokerUnavailableError where a step was not confirmed in time; those before it have taken effect
   * @throws ConfigurationError where the topic speaks another protocol
   */
  async purge(topic: TopicRef, options: ClearOptions = {}): Promise<ClearCounts> {
    return this.#clear(topic, 'dead', options);
  }

  /**
   * Stops handing out the messages of a topic, in all processes, from their next claim on. What is being handled goes on;
   * publishing, cancelling and the rest work as before. A pause lasts until {@link resume}, through restarts of everything.
   *
   * @throws InvalidArgumentError also where the topic was never used
   * @throws BrokerUnavailableError where it was not confirmed in time: a part of the partitions may be paused then
   * @throws ConfigurationError where the topic speaks another protocol
   */
  async pause(topic: TopicRef): Promise<void> {
    const name = checkedTopicName(topic);
    await this.#served(async (broker) => {
      const partitions = await existingPartitions(broker, name);
      await Promise.all(partitions.map((partition) => broker.pause(partition)));
    });
  }

  /**
   * Ends a pause: what has fallen due meanwhile is handed out at once.
   *
   * @throws InvalidArgumentError also where the topic was never used
   * @throws BrokerUnavailableError where it was not confirmed in time: a part of the partitions may be paused still
   * @throws ConfigurationError where the topic speaks another protocol
   */
  async resume(topic: TopicRef): Promise<void> {
    const name = checkedTopicName(topic);
    await this.#served(async (broker) => {
      const partitions = await existingPartitions(broker, name);
      await Promise.all(partitions.map((partition) => broker.resume(partition)));
    });
  }

  async #clear(topic: TopicRef, state: 'scheduled' | 'dead', options: ClearOptions): Promise<ClearCounts> {
    const name = checkedTopicName(topic);
    assertClearOptions(options);
    const partitions = await this.#served((broker) => existingPartitions(broker, name));
    return clearTopic(this.#dependencies.broker, this.#changes, { partitions, state, options });
  }

  #served<T>(operation: (broker: Broker) => Promise<T>): Promise<T> {
    const { broker, clock, timeout } = this.#dependencies;
    return serveWithin(clock, timeout, () => operation(broker));
  }
}
