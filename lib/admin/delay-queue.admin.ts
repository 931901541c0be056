import { MAX_BATCH, type Broker } from '../broker/broker.interface.js';
import type { Clock } from '../common/clock.js';
import { serveWithin } from '../common/serve-within.js';
import { assertInteger, assertOneOf, assertOptions } from '../common/validate.js';
import { assertMessageName } from '../message/assert-id.js';
import { type TopicRef, checkedTopicName } from '../message/topic.js';
import { existingPartitions } from './existing-partitions.js';
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
}

/**
 * Looks into topics, and acts on what they hold. Inject it anywhere.
 *
 * Where a method takes a message's id without its key, the message is looked for in the id's own partition first, then in
 * the others.
 *
 * @publicApi
 */
export class DelayQueueAdmin {
  readonly #dependencies: AdminDependencies;

  constructor(dependencies: AdminDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * The topics that were ever used under this prefix, sorted. One that has been empty for long is among them.
   *
   * @throws BrokerUnavailableError
   */
  async topics(): Promise<string[]> {
    return this.#served((broker) => broker.admin.topics());
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
    return this.#served((broker) => findMessage(broker, name, id));
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
    const start = cursor === undefined ? new Map() : decodeCursor(cursor, name, state);
    return this.#served((broker) => listTopic(broker, { topic: name, state, limit, start }));
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
      await Promise.all(partitions.map((partition) => broker.admin.pause(partition)));
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
      await Promise.all(partitions.map((partition) => broker.admin.resume(partition)));
    });
  }

  #served<T>(operation: (broker: Broker) => Promise<T>): Promise<T> {
    const { broker, clock, timeout } = this.#dependencies;
    return serveWithin(clock, timeout, () => operation(broker));
  }
}
