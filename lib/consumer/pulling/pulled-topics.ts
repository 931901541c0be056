import { BrokerUnavailableError, ReceiverUnavailableError } from '../../errors/operation.errors.js';
import { InvalidArgumentError } from '../../errors/options.errors.js';
import type { TopicRegistry } from '../../fleet/topic.registry.js';
import { type TopicRef, checkedTopicName, schemaOf } from '../../messages/topic.js';
import type { Timer } from '../../time/clock.js';
import { within } from '../../time/deadline.js';
import { onAbort, sleep } from '../../time/sleep.js';
import type { ConsumerContext } from '../consumer-context.js';
import type { PartitionSharing } from '../ownership/partition-sharing.js';
import type { TopicConsumer } from '../ownership/topic-consumer.js';
import { PulledTopic } from './pulled-topic.js';
import type { Room } from './room.js';
import type { Received } from './handing-out.js';
import type { KnownReceivers } from './known-receivers.js';

/** Time for which this process takes part in a topic after the last receive() has ended, in milliseconds: the next may follow soon. */
const LINGER = 5000;

export interface PulledTopicsOptions {
  readonly context: ConsumerContext;
  readonly topics: TopicRegistry;
  readonly sharing: PartitionSharing;
  /** Topics that have a handler here. */
  readonly handled: readonly string[];
  /** Default lease of received messages, in milliseconds. */
  readonly lease: number;
  /** Time limit for a call to Redis, in milliseconds. */
  readonly timeout: number;
  readonly known: KnownReceivers;
  /** Makes a consumer of a topic. Rejects with a BrokerUnavailableError. */
  readonly consume: (pulled: PulledTopic) => Promise<void>;
  /** Stores the settings that this process has for a topic. Never rejects. */
  readonly say: (topic: string) => Promise<void>;
}

/** Request of a receive() call; times in milliseconds. */
export interface ReceiveRequest {
  readonly max: number;
  /** Time to wait if nothing is due. */
  readonly wait: number;
  /** 0 if messages are acknowledged before they are returned. */
  readonly lease: number;
  /** Ends the wait. */
  readonly signal: AbortSignal;
  /** Room that is shared with other calls. */
  readonly room?: Room | undefined;
  /** Name of the receiver. */
  readonly consumer: string;
}

/**
 * Topics from which this process receives. It takes part in one only while a receive() runs there and for a while after; received messages
 * can be settled in any case.
 */
export class PulledTopics {
  readonly #options: PulledTopicsOptions;
  readonly #pulled = new Map<string, PulledTopic>();
  readonly #lingering = new Map<PulledTopic, Timer>();
  #isStopped = false;

  constructor(options: PulledTopicsOptions) {
    this.#options = options;
  }

  /**
   * Waits for messages of a topic.
   *
   * @throws InvalidArgumentError if the topic has a handler here
   * @throws ConfigurationError if its messages need a serializer that this process lacks
   * @throws BrokerUnavailableError
   */
  async receive(ref: TopicRef, request: ReceiveRequest): Promise<Received> {
    const topic = checkedTopicName(ref);
    this.#assertReceives();
    if (this.#options.handled.includes(topic)) {
      throw new InvalidArgumentError(
        `Topic '${topic}' is handled, pushed or forwarded by this process, so it cannot be received here: its messages go to one place. ` +
          `Receive it in another process, or another topic.`,
      );
    }
    const pulled = this.#topic(topic);
    pulled.checkBy(schemaOf(ref));
    await this.#reach(pulled);
    // A process that only settles does not store settings.
    pulled.said ??= this.#say(pulled);
    await pulled.said;
    const lease = pulled.isOnce ? 0 : request.lease;
    // A refused call must not take partitions from processes whose calls are not refused.
    this.#assertMayBeOnce(topic, lease);
    const startedAt = this.#options.context.clock.now();
    pulled.assertReadable(Infinity);
    const told = this.#enter(pulled);
    const end = this.#options.known.begin(topic, request.consumer);
    try {
      const consumer = pulled.consumer as TopicConsumer;
      const deliveries = this.#isStopped
        ? []
        : await this.#wait(pulled, { ...request, lease }, async () => {
            await told;
            await consumer.shared();
            await pulled.found();
          });
      if (deliveries.length === 0 && !this.#isStopped) {
        pulled.assertReadable(startedAt);
        this.#assertServed(consumer);
      }
      return { consumer, deliveries, lease };
    } finally {
      end();
      this.#leave(pulled);
    }
  }

  /**
   * Returns the consumer of a topic, whether its partitions are taken here or not; `undefined` if there is no such topic.
   *
   * @throws BrokerUnavailableError
   */
  async consumerOf(topic: string): Promise<TopicConsumer | undefined> {
    const { context, sharing, handled, timeout } = this.#options;
    // The shutdown ends all work on handled topics.
    if (this.#isStopped && handled.includes(topic)) throw shutsDown();
    const known = sharing.consumerOf(topic);
    if (known) return known;
    const config = await within(context.clock, timeout, context.broker.fleet.configOf(topic), {
      error: () => noAnswer(),
    });
    // An invented receipt must not create a topic.
    if (!config) return undefined;
    await this.#reach(this.#topic(topic));
    return sharing.consumerOf(topic);
  }

  /** Whether this process receives or settles messages of a topic. */
  has(topic: string): boolean {
    return this.#pulled.has(topic);
  }

  /** Answers all waiting calls; no call can wait any more. */
  stop(): void {
    this.#isStopped = true;
    for (const { receivers } of this.#pulled.values()) receivers.dismiss();
    for (const timer of this.#lingering.values()) timer.cancel();
    this.#lingering.clear();
  }

  #assertReceives(): void {
    if (this.#isStopped) throw shutsDown();
  }

  #topic(topic: string): PulledTopic {
    const { context, topics, lease } = this.#options;
    let pulled = this.#pulled.get(topic);
    if (!pulled) {
      pulled = new PulledTopic(context.clock, topic, topics, lease);
      this.#pulled.set(topic, pulled);
    }
    return pulled;
  }

  async #reach(pulled: PulledTopic): Promise<void> {
    const { context, sharing, consume, timeout } = this.#options;
    pulled.ready ??= consume(pulled).then(
      () => void (pulled.consumer = sharing.consumerOf(pulled.topic)),
      (error: unknown) => {
        pulled.ready = undefined;
        throw error;
      },
    );
    await within(context.clock, timeout, pulled.ready, { error: () => noAnswer() });
  }

  async #say({ topic, consumer }: PulledTopic): Promise<void> {
    const { say, topics } = this.#options;
    await say(topic);
    consumer?.changeLimits(topics.terms(topic).limits);
  }

  /** Resolves once the others know that this process takes part in the topic. */
  #enter(pulled: PulledTopic): Promise<void> {
    const isNew = pulled.calls++ === 0 && !this.#lingering.has(pulled);
    this.#lingering.get(pulled)?.cancel();
    this.#lingering.delete(pulled);
    return isNew ? this.#options.sharing.begin([pulled.topic]) : Promise.resolve();
  }

  #leave(pulled: PulledTopic): void {
    if (--pulled.calls > 0 || this.#isStopped) return;
    const { context, sharing } = this.#options;
    const end = (): void => {
      this.#lingering.delete(pulled);
      void sharing.end([pulled.topic]);
    };
    this.#lingering.set(pulled, context.clock.setTimer(LINGER, end));
  }

  /** @param look resolves once the messages that are due now are found */
  async #wait(pulled: PulledTopic, { max, wait, lease, signal }: ReceiveRequest, look: () => Promise<void>) {
    const { clock } = this.#options.context;
    const over = new AbortController();
    const end = (): void => over.abort();
    const ignore = onAbort(signal, end);
    const waited = pulled.receivers.wait({ max, lease: lease || pulled.settings.lease, over: over.signal });
    if (signal.aborted) end();
    const slept = wait > 0 ? sleep(clock, wait, over.signal) : undefined;
    void Promise.all([slept, look()]).then(end);
    try {
      return await waited;
    } finally {
      ignore();
      end();
    }
  }

  /** A message that is gone when it is received can neither keep others waiting nor count as in flight. */
  #assertMayBeOnce(topic: string, lease: number): void {
    const { topics } = this.#options;
    if (lease > 0) return;
    const conflict = topics.knownOrder(topic)
      ? 'is ordered'
      : topics.terms(topic).limits?.inFlight && 'limits what is in flight';
    if (conflict === undefined) return;
    throw new InvalidArgumentError(
      `Topic '${topic}' ${conflict}, so it cannot be received with lease: 0: such a message is gone when it is received, and neither keeps ` +
        `others waiting nor is in flight. Receive it with a lease.`,
    );
  }

  /** Throws if nothing was found because Redis does not answer: that does not mean that there is nothing. */
  #assertServed({ progress }: TopicConsumer): void {
    const { failedAt = -Infinity, renewedAt } = this.#options.sharing.session;
    const { owned } = progress;
    const isFailing = owned.length > 0 && owned.every((one) => (one.failedAt ?? -Infinity) > one.answeredAt);
    if (isFailing || failedAt > renewedAt) throw noAnswer(', so it is not known whether there is something to receive');
  }
}

export function shutsDown(): ReceiverUnavailableError {
  return new ReceiverUnavailableError('This process shuts down. What it has received can be settled by any other');
}

function noAnswer(consequence = ''): BrokerUnavailableError {
  return new BrokerUnavailableError(`Redis does not answer${consequence}`);
}
