import { v7 as uuidv7 } from 'uuid';
import { type ActionOptions, type AuditLog, actorOf } from '../events/audit-log.js';
import type { Broker } from '../store/broker.interface.js';
import type { CancelResult, RescheduleResult } from '../store/messages/change-message.js';
import { type CancelTaggedResult, MessageChanges } from './message-changes.js';
import type { Clock } from '../time/clock.js';
import { shareClass } from '../package-copies.js';
import { describe } from '../checks/describe.js';
import type { Duration } from '../time/duration.js';
import type { LocalTime } from '../time/local-time.js';
import type { MessageRef } from '../messages/message-ref.js';
import { serveWithin } from '../store/calls/serve.js';
import { assertOptions } from '../checks/validate.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import type { EventSink } from '../events/queue-events.interface.js';
import type { PublishedPayload, TopicName } from '../messages/payload-types.js';
import type { PublishedMessage, PublishOptions } from '../messages/publish-options.interface.js';
import { toStored } from '../messages/serializer.js';
import { type Topic, type TopicRef, checkedTopicName, schemaOf } from '../messages/topic.js';
import type { TopicRegistry } from '../fleet/topic.registry.js';
import { assertPayload } from '../messages/payload-schema.js';
import { type GivenMessage, type PublishLayer, publishWithin } from '../middleware/middleware-layers.js';
import {
  type PublishDefaults,
  type PublishRequest,
  assertPublishOptions,
  toPublishRequest,
} from './publish-request.js';
import { type Route, type OnPublishFailed, Publisher } from './publisher.js';

export interface ProducerDependencies extends PublishDefaults {
  readonly store: Pick<Broker, 'messages' | 'now'>;
  readonly topics: TopicRegistry;
  readonly clock: Clock;
  readonly events: EventSink;
  /** Layers around each call; the first is the outermost. `undefined` if no middleware acts there. */
  readonly middleware: readonly PublishLayer[] | undefined;
  readonly audit: Pick<AuditLog, 'around'>;
  /** Called for messages that are not published; the event `published` reports all others. */
  readonly onFailed?: OnPublishFailed | undefined;
  /** Called with the topic when a call has been answered: once per call, not per message. */
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
  readonly #publisher: Publisher;
  readonly #changes: MessageChanges;

  /** @internal */
  constructor(dependencies: ProducerDependencies) {
    this.#dependencies = dependencies;
    const { store, clock, publishTimeout: timeout } = dependencies;
    const caller = uuidv7();
    const onSent = (topic: string, isNewPartition: boolean): void => {
      dependencies.onSent?.(topic);
      if (isNewPartition) void this.#restore(topic);
    };
    const orderOf = (topic: string) => dependencies.topics.knownOrder(topic);
    this.#publisher = new Publisher({ ...dependencies, store: store.messages, timeout, caller, onSent, orderOf });
    const partitionsOf = (topic: string): Promise<number> => this.#partitions(topic);
    this.#changes = new MessageChanges({ store, clock, timeout, caller: `${caller}:change`, partitionsOf });
  }

  /**
   * Publishes one message. Once this resolves, the message is delivered until it is acknowledged, dead or cancelled.
   * Calls made in the same turn of the event loop travel together.
   *
   * A wrong payload for a typed topic, or for a name in `DelayQueueTopics`, does not compile; a wrong payload for a topic with a schema is
   * refused. A plain string takes any payload; `publish<Order>('orders', order)` sets its type.
   *
   * @throws InvalidArgumentError, SerializationError, PayloadTooLargeError, InvalidPayloadError, SchemaError: nothing was
   * sent
   * @throws DuplicateMessageError if the id exists; see `onDuplicate`
   * @throws NotReplicatedError if it was stored, but fewer replicas confirmed it than `replicas` asks for
   * @throws BrokerUnavailableError if it was not confirmed within `publishTimeout`
   * @throws ConfigurationError at the first use of a topic that has another number of partitions, and if middleware breaks its rules;
   * besides, middleware can throw its own errors
   */
  publish<T, N extends TopicName = TopicName>(
    topic: Topic<T, unknown> | N,
    payload: NoInfer<PublishedPayload<T, N>>,
    options?: PublishOptions,
  ): Promise<PublishedMessage> {
    const { middleware } = this.#dependencies;
    return middleware
      ? this.#publishOneWithin(middleware, topic, { payload, options })
      : this.#publishOne(topic, payload, options);
  }

  /**
   * Publishes several messages to one topic, with one call for each partition. All are checked before the first is sent.
   *
   * @returns one result for each message, in order
   * @throws InvalidArgumentError, SerializationError, PayloadTooLargeError, InvalidPayloadError, SchemaError: nothing was
   * sent
   * @throws PublishManyError if some were refused; its `results` have the result of each
   */
  publishMany<T, N extends TopicName = TopicName>(
    topic: Topic<T, unknown> | N,
    messages: readonly { payload: NoInfer<PublishedPayload<T, N>>; options?: PublishOptions }[],
  ): Promise<PublishedMessage[]> {
    const { middleware } = this.#dependencies;
    return middleware ? this.#publishAllWithin(middleware, topic, messages) : this.#publishAll(topic, messages);
  }

  /**
   * Cancels a message. If it is being handled, its `signal` aborts, and it is not retried. If you pass an id without its key, the message is
   * looked up in the id's own partition first, then in the others.
   *
   * @returns `'not-found'` also for a dead letter
   * @throws InvalidArgumentError, BrokerUnavailableError
   */
  async cancel(topic: TopicRef, ref: MessageRef): Promise<CancelResult> {
    return this.#changes.cancel(topic, ref);
  }

  /**
   * Cancels every message with a tag, as {@link cancel} does; dead letters stay. The call works in steps of at most 100 messages of a
   * partition, so it doesn't hold up other calls, however many there are. Messages published with the tag during the call may be cancelled
   * as well.
   *
   * With `actor`, the call counts as the work of an operator and is written to the audit log; for that, the Redis user needs the role
   * `operator`.
   *
   * @throws InvalidArgumentError: nothing was sent
   * @throws BrokerUnavailableError if a step was not confirmed within `publishTimeout`; earlier steps have taken effect
   */
  async cancelTagged(topic: TopicRef, tag: string, options: ActionOptions = {}): Promise<CancelTaggedResult> {
    const actor = actorOf(options);
    if (actor === undefined) return this.#changes.cancelTagged(topic, tag);
    const about = () => ({ topic: checkedTopicName(topic), actor, given: { tag } });
    return this.#dependencies.audit.around({ action: 'cancelTagged', about }, (begin) =>
      this.#changes.cancelTagged(topic, tag, begin),
    );
  }

  /**
   * Moves a waiting message to another time, even if it waits for a retry. Its payload, options and attempts stay as they are, and
   * `expireAfter` counts from the new time. If you pass an id without its key, the message is looked up in the id's own partition first,
   * then in the others.
   *
   * @param when either `delay`, the time from now on the Redis server's clock until it is due, 0 to 10 years; or `deliverAt`,
   * when it is due, at most 10 years ahead, as in the options of `publish()`. A time in the past means at once
   * @returns `'moved'`; with any other word nothing was changed
   * @throws InvalidArgumentError: nothing was sent
   * @throws BrokerUnavailableError if it was not confirmed within `publishTimeout`
   * @throws ConfigurationError at the first use of a topic that has another number of partitions
   */
  async reschedule(
    topic: TopicRef,
    ref: MessageRef,
    when: { delay: Duration } | { deliverAt: Date | number | LocalTime },
  ): Promise<RescheduleResult> {
    return this.#changes.reschedule(topic, ref, when);
  }

  async #publishOneWithin(
    middleware: readonly PublishLayer[],
    topic: TopicRef,
    message: GivenMessage,
  ): Promise<PublishedMessage> {
    const name = checkedTopicName(topic);
    this.#assertOptions(name, [message]);
    const results = await publishWithin(middleware, name, [message], async (changed) =>
      Promise.all(changed.map(({ payload, options }) => this.#publishOne(topic, payload, options))),
    );
    return results[0] as PublishedMessage;
  }

  async #publishAllWithin(
    middleware: readonly PublishLayer[],
    topic: TopicRef,
    messages: readonly GivenMessage[],
  ): Promise<PublishedMessage[]> {
    const name = checkedTopicName(topic);
    assertMessages(messages);
    if (messages.length === 0) return [];
    this.#assertOptions(name, messages);
    return publishWithin(middleware, name, messages, async (changed) => this.#publishAll(topic, changed));
  }

  /** Checks options first, so that middleware gets only valid ones. */
  #assertOptions(topic: string, messages: readonly GivenMessage[]): void {
    try {
      for (const { options } of messages) if (options !== undefined) assertPublishOptions(options);
    } catch (error) {
      throw this.#failed(topic, error, messages.length);
    }
  }

  #publishOne(topic: TopicRef, payload: unknown, options: PublishOptions | undefined): Promise<PublishedMessage> {
    let name: string | undefined;
    try {
      name = checkedTopicName(topic);
      const { store, topics } = this.#dependencies;
      const stored = toStored(name, topics.settings(name).serializer, payload);
      const request = toPublishRequest(stored, options, store.now(), this.#dependencies);
      const partitions = topics.knownPartitions(name);
      // Most calls have nothing to wait for.
      if (partitions !== undefined && !schemaOf(topic))
        return this.#publisher.publish({ topic: name, partitions }, request);
      return this.#publishChecked(topic, name, request);
    } catch (error) {
      return Promise.reject(name === undefined ? error : this.#failed(name, error, 1));
    }
  }

  async #publishChecked(topic: TopicRef, name: string, request: PublishRequest): Promise<PublishedMessage> {
    return this.#publisher.publish(await this.#checkedRoute(topic, name, [request]), request);
  }

  async #publishAll(topic: TopicRef, messages: readonly GivenMessage[]): Promise<PublishedMessage[]> {
    const name = checkedTopicName(topic);
    assertMessages(messages);
    const requests = this.#toRequests(name, messages);
    if (requests.length === 0) return [];
    return this.#publisher.publishAll(await this.#checkedRoute(topic, name, requests), requests);
  }

  #toRequests(topic: string, messages: readonly GivenMessage[]): PublishRequest[] {
    const { store, topics } = this.#dependencies;
    const now = store.now();
    const { serializer } = topics.settings(topic);
    try {
      return messages.map(({ payload, options }) =>
        toPublishRequest(toStored(topic, serializer, payload), options, now, this.#dependencies),
      );
    } catch (error) {
      throw this.#failed(topic, error, messages.length);
    }
  }

  /** Checks messages against the schema of their topic, and returns their route. */
  async #checkedRoute(topic: TopicRef, name: string, requests: readonly PublishRequest[]): Promise<Route> {
    const schema = schemaOf(topic);
    const { serializer } = this.#dependencies.topics.settings(name);
    try {
      if (schema)
        await Promise.all(requests.map(({ envelope }) => assertPayload({ topic: name, schema, serializer }, envelope)));
      return { topic: name, partitions: await this.#partitions(name) };
    } catch (error) {
      throw this.#failed(name, error, requests.length);
    }
  }

  /** Reports messages that are not sent; the publisher reports those that were sent and failed. */
  #failed(topic: string, error: unknown, messages: number): unknown {
    this.#dependencies.onFailed?.(topic, error, messages);
    return error;
  }

  /** Restores a topic. A partition is new at its first publish, or because Redis has lost it, and then perhaps the topic too. */
  async #restore(topic: string): Promise<void> {
    const { topics, events } = this.#dependencies;
    try {
      await topics.restore(topic);
    } catch (error) {
      events.emit('errors', { source: 'membership', topic, error });
    }
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
