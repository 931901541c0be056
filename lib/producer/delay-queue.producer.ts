import { v7 as uuidv7 } from 'uuid';
import type { CancelResult, MessageStore } from '../broker/broker.interface.js';
import type { Clock } from '../common/clock.js';
import { serveWithin } from '../common/serve-within.js';
import { assertOptions } from '../common/validate.js';
import { DuplicateMessageError } from '../errors/duplicate-message.error.js';
import { InvalidArgumentError } from '../errors/invalid-argument.error.js';
import { PublishManyError } from '../errors/publish-many.error.js';
import type { EventSink } from '../events/queue-events.interface.js';
import { assertId } from '../message/assert-id.js';
import { partitionOf } from '../message/partitioner.js';
import type { PublishedPayload, TopicName } from '../message/payload-types.js';
import type { PublishedMessage, PublishOptions } from '../message/publish-options.interface.js';
import { toStoredId } from '../message/stored-id.js';
import { type Topic, type TopicRef, checkedTopicName, schemaOf } from '../message/topic.js';
import { locateById } from '../topics/locate-by-id.js';
import type { TopicRegistry } from '../topics/topic.registry.js';
import { assertPayload } from './assert-payload.js';
import { CancelLane } from './cancel-lane.js';
import { Lanes } from './lanes.js';
import { PublishLane } from './publish-lane.js';
import { type PublishRequest, toPublishRequest } from './publish-request.js';

export interface ProducerDependencies {
  readonly store: MessageStore & { now(): number };
  readonly topics: TopicRegistry;
  readonly clock: Clock;
  readonly events: EventSink;
  /** Longest time until a publish is confirmed or rejected, in milliseconds. */
  readonly publishTimeout: number;
}

/**
 * Publishes and cancels messages. Inject it anywhere.
 *
 * @example
 * ```ts
 * await producer.publish('order.timeout', { orderId }, { id: orderId, delay: '30m' });
 * await producer.cancel('order.timeout', orderId);
 * ```
 *
 * @publicApi
 */
export class DelayQueueProducer {
  readonly #dependencies: ProducerDependencies;
  readonly #publishLanes: Lanes<PublishLane>;
  readonly #cancelLanes: Lanes<CancelLane>;

  constructor(dependencies: ProducerDependencies) {
    this.#dependencies = dependencies;
    const { store, clock, publishTimeout: timeout } = dependencies;
    const caller = uuidv7();
    this.#publishLanes = new Lanes((partition) => new PublishLane({ store, clock, partition, timeout, caller }));
    this.#cancelLanes = new Lanes(
      (partition) => new CancelLane({ store, clock, partition, timeout, caller: `${caller}:cancel` }),
    );
  }

  /**
   * Publishes one message. Once this resolves, the message is delivered until it is acknowledged, dead or cancelled.
   * Calls made in the same turn of the event loop travel together.
   *
   * A wrong payload for a typed topic, or for a name in `DelayQueueTopics`, does not compile; one for a topic with a schema
   * is refused. A plain string takes any payload; `publish<Order>('orders', order)` says which.
   *
   * @throws InvalidArgumentError, SerializationError, PayloadTooLargeError, InvalidPayloadError, SchemaError: nothing was
   * sent
   * @throws DuplicateMessageError where the id exists; see `onDuplicate`
   * @throws BrokerUnavailableError where it was not confirmed within `publishTimeout`
   * @throws ConfigurationError at the first use of a topic that has another number of partitions
   */
  async publish<T, N extends TopicName = TopicName>(
    topic: Topic<T, unknown> | N,
    payload: NoInfer<PublishedPayload<T, N>>,
    options?: PublishOptions,
  ): Promise<PublishedMessage> {
    const name = checkedTopicName(topic);
    const request = toPublishRequest(payload, options, this.#dependencies.store.now());
    const schema = schemaOf(topic);
    if (schema) await assertPayload(name, schema, request);
    return this.#publish(name, await this.#partitions(name), request);
  }

  /**
   * Publishes several messages to one topic, a call a partition. All are checked before the first is sent.
   *
   * @returns one result a message, in order
   * @throws InvalidArgumentError, SerializationError, PayloadTooLargeError, InvalidPayloadError, SchemaError: nothing was
   * sent
   * @throws PublishManyError where some were refused; its `results` has what became of each
   */
  async publishMany<T, N extends TopicName = TopicName>(
    topic: Topic<T, unknown> | N,
    messages: readonly { payload: NoInfer<PublishedPayload<T, N>>; options?: PublishOptions }[],
  ): Promise<PublishedMessage[]> {
    const name = checkedTopicName(topic);
    const now = this.#dependencies.store.now();
    if (!Array.isArray(messages)) throw new InvalidArgumentError('publishMany takes an array of { payload, options }.');
    const requests = messages.map((message) => {
      assertOptions('A message of publishMany', message, ['payload', 'options']);
      return toPublishRequest(message.payload, message.options, now);
    });
    if (requests.length === 0) return [];
    const schema = schemaOf(topic);
    if (schema) await Promise.all(requests.map((request) => assertPayload(name, schema, request)));
    const partitions = await this.#partitions(name);
    const results = await Promise.allSettled(requests.map((request) => this.#publish(name, partitions, request)));
    if (results.some(({ status }) => status === 'rejected')) throw new PublishManyError(name, results);
    return results.map((result) => (result as PromiseFulfilledResult<PublishedMessage>).value);
  }

  /**
   * Cancels a message. One that is being handled has its `signal` aborted and is not retried. An id without its key is
   * looked for in its own partition first, then in the others.
   *
   * @returns `'not-found'` also for a dead letter
   * @throws InvalidArgumentError, BrokerUnavailableError
   */
  async cancel(topic: TopicRef, id: string | { id: string; key: string }): Promise<CancelResult> {
    const name = checkedTopicName(topic);
    if (typeof id === 'object' && id !== null) {
      assertId('id', id.id);
      assertId('key', id.key);
      const partition = partitionOf(id.key, await this.#partitions(name));
      return this.#cancelLanes.get(name, partition).cancel(toStoredId(id.id, id.key));
    }
    assertId('id', id);
    return this.#cancelById(name, id, await this.#partitions(name));
  }

  async #cancelById(topic: string, id: string, partitions: number): Promise<CancelResult> {
    const result = await this.#cancelLanes.get(topic, partitionOf(id, partitions)).cancel(id);
    if (result !== 'not-found') return result;
    const { store } = this.#dependencies;
    const found = await this.#withinDeadline(() => locateById(store, topic, id, partitions));
    for (const { partition, storedId } of found) {
      const answer = await this.#cancelLanes.get(topic, partition.index).cancel(storedId);
      if (answer !== 'not-found') return answer;
    }
    return 'not-found';
  }

  async #publish(topic: string, partitions: number, { id, key, message }: PublishRequest): Promise<PublishedMessage> {
    const partition = partitionOf(key, partitions);
    const { status, dueAt } = await this.#publishLanes.get(topic, partition).publish(message);
    if (status === 'rejected') throw new DuplicateMessageError(topic, id);
    const published = { id, topic, partition, dueAt: new Date(dueAt), duplicate: status !== 'created' };
    const { events } = this.#dependencies;
    if (events.wants('published')) events.emit('published', published);
    return published;
  }

  async #partitions(topic: string): Promise<number> {
    const { topics } = this.#dependencies;
    return topics.knownPartitions(topic) ?? this.#withinDeadline(() => topics.partitions(topic));
  }

  #withinDeadline<T>(operation: () => Promise<T>): Promise<T> {
    const { clock, publishTimeout } = this.#dependencies;
    return serveWithin(clock, publishTimeout, operation);
  }
}
