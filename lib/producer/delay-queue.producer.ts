import { v7 as uuidv7 } from 'uuid';
import { type ActionOptions, type AuditLog, actorOf } from '../events/audit-log.js';
import type { Broker } from '../store/broker.interface.js';
import type { CancelResult, RescheduleResult } from '../store/messages/change-message.js';
import type { DueTime } from '../store/messages/publish.js';
import { type CancelTaggedResult, MessageChanges } from './message-changes.js';
import type { Clock } from '../time/clock.js';
import { shareClass } from '../package-copies.js';
import { describe } from '../checks/describe.js';
import type { Duration } from '../time/duration.js';
import type { LocalTime } from '../time/local-time.js';
import { assertMessageRef, type MessageRef } from '../messages/message-ref.js';
import { checkedTransactionOptions } from '../messages/message-options.js';
import { assertOptions } from '../checks/validate.js';
import { ConfigurationError, InvalidArgumentError } from '../errors/options.errors.js';
import type { EventSink } from '../events/queue-events.interface.js';
import type { PublishedPayload, TopicName } from '../messages/payload-types.js';
import type {
  PublishedMessage,
  PublishOptions,
  TransactionOptions,
  WrittenToOutbox,
} from '../messages/publish-options.interface.js';
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
import { requiredDueTime } from './due-time.js';
import type { Outbox, OutboxWriter } from './outbox.interface.js';
import { partitionsOf } from '../fleet/partitions-of.js';
import { restoreTopic } from './restore-topic.js';
import { type Route, type OnPublishFailed, Publisher } from './publisher.js';

const WRITTEN: WrittenToOutbox = Object.freeze({ outbox: true });

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
  /** Returns the outbox for calls that are part of a transaction; `undefined` if there is none. */
  readonly outbox?: () => Outbox | undefined;
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
      if (isNewPartition) void restoreTopic(dependencies, topic);
    };
    const orderOf = (topic: string) => dependencies.topics.knownOrder(topic);
    this.#publisher = new Publisher({ ...dependencies, store: store.messages, timeout, caller, onSent, orderOf });
    this.#changes = new MessageChanges({
      store,
      clock,
      timeout,
      caller: `${caller}:change`,
      partitionsOf: (topic) => this.#partitions(topic),
    });
  }

  /**
   * Publishes one message. Once this resolves, the message is delivered until it is acknowledged, dead or cancelled.
   * Calls made in the same turn of the event loop travel together. With `DelayQueueOutboxModule`, a call within a transaction of your
   * database is part of it: the message is published after the commit, and only then.
   *
   * A wrong payload for a typed topic, or for a name in `DelayQueueTopics`, does not compile; a wrong payload for a topic with a schema is
   * refused. A plain string takes any payload; `publish<Order>('orders', order)` sets its type.
   *
   * @throws InvalidArgumentError, SerializationError, PayloadTooLargeError, InvalidPayloadError, SchemaError: nothing was
   * sent
   * @throws TransactionRequiredError if it has to be part of a transaction and is not; see {@link PublishOptions.outbox}
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
   * Publishes several messages to one topic, with one call for each partition. All are checked before the first is sent. They are part of
   * the same transaction, or of none.
   *
   * @returns one result for each message, in order
   * @throws InvalidArgumentError, SerializationError, PayloadTooLargeError, InvalidPayloadError, SchemaError: nothing was
   * sent
   * @throws TransactionRequiredError if they have to be part of a transaction and are not
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
   * As part of a transaction it takes effect after the commit, and its result is not known before; if the topic has an inbox, it is: `'cancelled'`,
   * or `'done'` if the message was handled.
   *
   * @returns `'not-found'` also for a dead letter
   * @see docs/guides/transactions.md#handle-in-a-transaction
   * @throws InvalidArgumentError, TransactionRequiredError, BrokerUnavailableError
   */
  async cancel(
    topic: TopicRef,
    ref: MessageRef,
    options?: TransactionOptions,
  ): Promise<CancelResult | 'done' | WrittenToOutbox> {
    const name = checkedTopicName(topic);
    const writer = this.#writerOfChange(name, ref, options);
    return writer ? ((await writer.cancel(name, ref)) ?? WRITTEN) : this.#changes.cancel(name, ref);
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
   * then in the others. As part of a transaction it takes effect after the commit, and its result is not known before; if the topic
   * has an inbox, it is: `'moved'`, `'done'` or `'not-found'`.
   *
   * @param when either `delay`, the time from now on the Redis server's clock until it is due, 0 to 10 years; or `deliverAt`,
   * when it is due, at most 10 years ahead, as in the options of `publish()`. A time in the past means at once
   * @returns `'moved'`; with any other word nothing was changed
   * @throws InvalidArgumentError, TransactionRequiredError: nothing was sent
   * @throws BrokerUnavailableError if it was not confirmed within `publishTimeout`
   * @throws ConfigurationError at the first use of a topic that has another number of partitions
   */
  async reschedule(
    topic: TopicRef,
    ref: MessageRef,
    when: { delay: Duration } | { deliverAt: Date | number | LocalTime },
    options?: TransactionOptions,
  ): Promise<RescheduleResult | 'done' | WrittenToOutbox> {
    const name = checkedTopicName(topic);
    const writer = this.#writerOfChange(name, ref, options);
    if (!writer) return this.#changes.reschedule(name, ref, when);
    const now = this.#dependencies.store.now();
    return (await writer.reschedule(name, ref, timeOf(requiredDueTime(when, now), now))) ?? WRITTEN;
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
      const now = store.now();
      const request = toPublishRequest(stored, options, now, this.#dependencies);
      const writer = this.#writerFor(name, options);
      if (writer)
        return this.#write(writer, topic, name, [request], now).then(([written]) => written as PublishedMessage);
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
    if (messages.length === 0) return [];
    const now = this.#dependencies.store.now();
    let requests: PublishRequest[];
    let writer: OutboxWriter | undefined;
    try {
      const { serializer } = this.#dependencies.topics.settings(name);
      requests = messages.map(({ payload, options }) =>
        toPublishRequest(toStored(name, serializer, payload), options, now, this.#dependencies),
      );
      writer = this.#writerForAll(name, messages);
    } catch (error) {
      throw this.#failed(name, error, messages.length);
    }
    if (writer) return this.#write(writer, topic, name, requests, now);
    return this.#publisher.publishAll(await this.#checkedRoute(topic, name, requests), requests);
  }

  /** Returns the writer for a call that is part of a transaction; `undefined` if it is part of none. */
  #writerFor(topic: string, options: TransactionOptions | undefined): OutboxWriter | undefined {
    const outbox = this.#dependencies.outbox?.();
    if (outbox) return outbox.writerFor(topic, options);
    if (options?.outbox !== true && options?.transaction === undefined) return undefined;
    throw new ConfigurationError(
      'A call can be part of a transaction only if the application imports DelayQueueOutboxModule of nestjs-delay-queue/outbox, for this ' +
        'connection. See docs/guides/transactions.md.',
    );
  }

  #writerForAll(topic: string, messages: readonly GivenMessage[]): OutboxWriter | undefined {
    const [{ options }] = messages as [GivenMessage];
    for (const { options: others } of messages) {
      if (others?.outbox === options?.outbox && others?.transaction === options?.transaction) continue;
      throw new InvalidArgumentError(
        'All messages of publishMany have to be part of the same transaction, or of none.',
      );
    }
    return this.#writerFor(topic, options);
  }

  #writerOfChange(topic: string, ref: MessageRef, options?: TransactionOptions): OutboxWriter | undefined {
    assertMessageRef(ref);
    if (options !== undefined) checkedTransactionOptions('The options', options);
    return this.#writerFor(topic, options);
  }

  async #write(
    writer: OutboxWriter,
    topic: TopicRef,
    name: string,
    requests: readonly PublishRequest[],
    now: number,
  ): Promise<PublishedMessage[]> {
    const dated = requests.map((request) => ({ ...request, due: { at: timeOf(request.due, now) } }));
    try {
      await this.#assertPayloads(topic, name, requests);
      await writer.publish(name, dated);
    } catch (error) {
      throw this.#failed(name, error, requests.length);
    }
    return dated.map(({ id, due }) => ({ id, topic: name, dueAt: new Date(due.at), ...WRITTEN }));
  }

  async #assertPayloads(topic: TopicRef, name: string, requests: readonly PublishRequest[]): Promise<void> {
    const schema = schemaOf(topic);
    if (!schema) return;
    const { serializer } = this.#dependencies.topics.settings(name);
    await Promise.all(requests.map(({ envelope }) => assertPayload({ topic: name, schema, serializer }, envelope)));
  }

  /** Checks messages against the schema of their topic, and returns their route. */
  async #checkedRoute(topic: TopicRef, name: string, requests: readonly PublishRequest[]): Promise<Route> {
    try {
      await this.#assertPayloads(topic, name, requests);
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

  async #partitions(topic: string): Promise<number> {
    const { topics, clock, publishTimeout } = this.#dependencies;
    return partitionsOf(topics, topic, clock, publishTimeout);
  }
}

/** @returns epoch milliseconds */
function timeOf(due: DueTime, now: number): number {
  return Math.ceil('after' in due ? now + due.after : due.at);
}

function assertMessages(messages: readonly GivenMessage[]): void {
  if (!Array.isArray(messages)) {
    throw new InvalidArgumentError(`publishMany takes an array of { payload, options }. Given: ${describe(messages)}.`);
  }
  for (const message of messages) assertOptions('A message of publishMany', message, ['payload', 'options']);
}
