import type { Broker } from '../broker/broker.interface.js';
import type { Clock } from '../common/clock.js';
import { serveWithin } from '../common/serve-within.js';
import { assertMessageName } from '../message/assert-id.js';
import { type TopicRef, checkedTopicName } from '../message/topic.js';
import { existingPartitions } from './existing-partitions.js';
import { findMessage } from './find-message.js';
import { countTopic } from './topic-counter.js';
import type { MessageDetails, TopicStats } from './topic-stats.interface.js';

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
