import { v7 as uuidv7 } from 'uuid';
import type { Broker, CancelResult } from '../broker/broker.interface.js';
import { MessageChanges } from '../topics/message-changes.js';
import type { Clock } from '../time/clock.js';
import { shareClass } from '../copies.js';
import { describe } from '../checks/describe.js';
import type { Duration } from '../time/duration.js';
import { serveWithin } from '../time/serve-within.js';
import { assertOptions } from '../checks/validate.js';
import { InvalidArgumentError } from '../errors/invalid-argument.error.js';
import type { EventSink } from '../events/queue-events.interface.js';
import type { DelayQueueMiddleware, OutgoingMessage } from '../middleware/middleware.interface.js';
import type { PublishedPayload, TopicName } from '../messages/payload-types.js';
import type { PublishedMessage, PublishOptions } from '../messages/publish-options.interface.js';
import { toStored } from '../messages/serializer.js';
import { type Topic, type TopicRef, checkedTopicName, schemaOf } from '../messages/topic.js';
import type { TopicRegistry } from '../topics/topic.registry.js';
import { assertPayload } from '../messages/assert-payload.js';
import {
  type GivenMessage,
  type PublishLayer,
  publishLayers,
  publishWithin,
  toOutgoing,
} from '../middleware/publish-middleware.js';
import { type PublishRequest, toPublishRequest } from './publish-request.js';
import { type Destination, type OnPublishFailed, Publisher } from './publisher.js';

export interface ProducerDependencies {
  readonly store: Pick<Broker, 'publish' | 'cancel' | 'reschedule' | 'locate' | 'now'>;
  readonly topics: TopicRegistry;
  readonly clock: Clock;
  readonly events: EventSink;
  /** Longest time until a publish is confirmed or rejected, in milliseconds. */
  readonly publishTimeout: number;
  /** Around each call; the first is the outermost. */
  readonly middleware: readonly DelayQueueMiddleware[];
  /** Told of what is not published; the event `published` tells of all else. */
  readonly onFailed?: OnPublishFailed | undefined;
  /** See {@link PublishLaneOptions.onSent}. */
  readonly onSent?: ((topic: string) => void) | undefined;
}

/**
 * Publishes, reschedules and cancels messages. Inject it anywhere.
 *
 * @example
 * ```ts
 * await producer.publish('order.timeout', { orderId }, { id: orderId, delay: '30m' });
 * await producer.reschedule('order.timeout', orderId, { delay: '1h' });
 * await producer.cancel('order.timeout', orderId);
 * ```
 *
 * @publicApi
 */
export class DelayQueueProducer {
  static {
    shareClass('DelayQueueProducer', this);
  }

  readonly #dependencies: ProducerDependencies;
  readonly #middleware: readonly PublishLayer[];
  readonly #publisher: Publisher;
  readonly #changes: MessageChanges;

  /** @internal */
  constructor(dependencies: ProducerDependencies) {
    this.#dependencies = dependencies;
    this.#middleware = publishLayers(dependencies.middleware);
    const { store, clock, events, publishTimeout: timeout, onFailed, onSent } = dependencies;
    const caller = uuidv7();
    this.#publisher = new Publisher({ store, clock, events, timeout, caller, onFailed, onSent });
    const partitionsOf = (topic: string): Promise<number> => this.#partitions(topic);
    this.#changes = new MessageChanges({ store, clock, timeout, caller: `${caller}:change`, partitionsOf });
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
   * @throws ConfigurationError at the first use of a topic that has another number of partitions, and where middleware
   *   does not do what it has to; else middleware may throw what it likes
   */
  publish<T, N extends TopicName = TopicName>(
    topic: Topic<T, unknown> | N,
    payload: NoInfer<PublishedPayload<T, N>>,
    options?: PublishOptions,
  ): Promise<PublishedMessage> {
    return this.#middleware.length === 0
      ? this.#publishOne(topic, payload, options)
      : this.#publishOneWithinMiddleware(topic, payload, options);
  }

  /**
   * Publishes several messages to one topic, a call a partition. All are checked before the first is sent.
   *
   * @returns one result a message, in order
   * @throws InvalidArgumentError, SerializationError, PayloadTooLargeError, InvalidPayloadError, SchemaError: nothing was
   * sent
   * @throws PublishManyError where some were refused; its `results` has what became of each
   */
  publishMany<T, N extends TopicName = TopicName>(
    topic: Topic<T, unknown> | N,
    messages: readonly { payload: NoInfer<PublishedPayload<T, N>>; options?: PublishOptions }[],
  ): Promise<PublishedMessage[]> {
    return this.#middleware.length === 0
      ? this.#publishAll(topic, messages)
      : this.#publishAllWithinMiddleware(topic, messages);
  }

  /**
   * Cancels a message. One that is being handled has its `signal` aborted and is not retried. An id without its key is
   * looked for in its own partition first, then in the others.
   *
   * @returns `'not-found'` also for a dead letter
   * @throws InvalidArgumentError, BrokerUnavailableError
   */
  async cancel(topic: TopicRef, id: string | { id: string; key: string }): Promise<CancelResult> {
    return this.#changes.cancel(topic, id);
  }

  /**
   * Moves a message that waits, be it for its retry, to another time. Its payload, options and attempts stay as they are,
   * and `expireAfter` counts from the new time. An id without its key is looked for in its own partition first, then in the
   * others.
   *
   * @param when `delay`: due so long from now on the Redis server's clock, 0 to 10 years. `deliverAt`: due at this time, at
   * most 10 years ahead (a number is epoch milliseconds); a time in the past is due at once. One of the two
   * @returns whether it was moved; `false` where there is no such message, or it is in flight or a dead letter: nothing was
   * changed then
   * @throws InvalidArgumentError: nothing was sent
   * @throws BrokerUnavailableError where it was not confirmed within `publishTimeout`
   * @throws ConfigurationError at the first use of a topic that has another number of partitions
   */
  async reschedule(
    topic: TopicRef,
    id: string | { id: string; key: string },
    when: { delay: Duration } | { deliverAt: Date | number },
  ): Promise<boolean> {
    return this.#changes.reschedule(topic, id, when);
  }

  async #publishOneWithinMiddleware(
    topic: TopicRef,
    payload: unknown,
    options: PublishOptions | undefined,
  ): Promise<PublishedMessage> {
    const publish = async (messages: readonly GivenMessage[]): Promise<PublishedMessage[]> =>
      Promise.all(messages.map((message) => this.#publishOne(topic, message.payload, message.options)));
    const outgoing = this.#toOutgoing(checkedTopicName(topic), [{ payload, options }]);
    const results = await publishWithin(this.#middleware, outgoing, publish);
    return results[0] as PublishedMessage;
  }

  async #publishAllWithinMiddleware(topic: TopicRef, messages: readonly GivenMessage[]): Promise<PublishedMessage[]> {
    const name = checkedTopicName(topic);
    assertMessages(messages);
    if (messages.length === 0) return [];
    const outgoing = this.#toOutgoing(name, messages);
    return publishWithin(this.#middleware, outgoing, async (changed) => this.#publishAll(topic, changed));
  }

  #toOutgoing(topic: string, given: readonly GivenMessage[]): OutgoingMessage[] {
    try {
      return toOutgoing(topic, given);
    } catch (error) {
      throw this.#failed(topic, error, given.length);
    }
  }

  #publishOne(topic: TopicRef, payload: unknown, options: PublishOptions | undefined): Promise<PublishedMessage> {
    let name: string | undefined;
    try {
      name = checkedTopicName(topic);
      const { store, topics } = this.#dependencies;
      const stored = toStored(name, topics.settings(name).serializer, payload);
      const request = toPublishRequest(stored, options, store.now());
      const partitions = topics.knownPartitions(name);
      // So with all but a few calls: there is nothing to wait for.
      if (partitions !== undefined && !schemaOf(topic))
        return this.#publisher.publish({ topic: name, partitions }, request);
      return this.#publishChecked(topic, name, request);
    } catch (error) {
      return Promise.reject(name === undefined ? error : this.#failed(name, error, 1));
    }
  }

  async #publishChecked(topic: TopicRef, name: string, request: PublishRequest): Promise<PublishedMessage> {
    return this.#publisher.publish(await this.#checkedDestination(topic, name, [request]), request);
  }

  async #publishAll(topic: TopicRef, messages: readonly GivenMessage[]): Promise<PublishedMessage[]> {
    const name = checkedTopicName(topic);
    assertMessages(messages);
    const requests = this.#toRequests(name, messages);
    if (requests.length === 0) return [];
    return this.#publisher.publishAll(await this.#checkedDestination(topic, name, requests), requests);
  }

  #toRequests(topic: string, messages: readonly GivenMessage[]): PublishRequest[] {
    const { store, topics } = this.#dependencies;
    const now = store.now();
    const { serializer } = topics.settings(topic);
    try {
      return messages.map(({ payload, options }) =>
        toPublishRequest(toStored(topic, serializer, payload), options, now),
      );
    } catch (error) {
      throw this.#failed(topic, error, messages.length);
    }
  }

  /** Where messages go, once they were found to fit the schema of their topic. */
  async #checkedDestination(topic: TopicRef, name: string, requests: readonly PublishRequest[]): Promise<Destination> {
    const schema = schemaOf(topic);
    const { serializer } = this.#dependencies.topics.settings(name);
    try {
      if (schema)
        await Promise.all(requests.map((request) => assertPayload({ topic: name, schema, serializer }, request)));
      return { topic: name, partitions: await this.#partitions(name) };
    } catch (error) {
      throw this.#failed(name, error, requests.length);
    }
  }

  /** Tells of messages that are not sent; the publisher tells of those that were. */
  #failed(topic: string, error: unknown, messages: number): unknown {
    this.#dependencies.onFailed?.(topic, error, messages);
    return error;
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

function assertMessages(messages: readonly GivenMessage[]): void {
  if (!Array.isArray(messages)) {
    throw new InvalidArgumentError(`publishMany takes an array of { payload, options }. Given: ${describe(messages)}.`);
  }
  for (const message of messages) assertOptions('A message of publishMany', message, ['payload', 'options']);
}
