import type { StandardSchemaV1 } from '@standard-schema/spec';
import { ConfigurationError, InvalidArgumentError } from '../../errors/options.errors.js';
import { settingsBeside } from '../../fleet/topic-terms.js';
import type { TopicRegistry } from '../../fleet/topic.registry.js';
import type { TopicSettings } from '../../fleet/topic-settings.interface.js';
import { withoutSerializer } from '../../messages/serializer.js';
import type { Clock } from '../../time/clock.js';
import { sleep } from '../../time/sleep.js';
import { HandlerSlots, SlotPool } from '../admission/handler-slots.js';
import { SuspectQuota } from '../admission/suspect-quota.js';
import type { HandledTopic, HandlerSettings } from '../message-handler.interface.js';
import type { TopicConsumer } from '../ownership/topic-consumer.js';
import { GATHERING, Receivers } from './receivers.js';

/** A topic from which this process receives or settles messages; shared by all its partitions. */
export class PulledTopic implements HandledTopic {
  readonly topic: string;
  /** Slots: one for each message that receivers wait for. */
  readonly slots = new HandlerSlots(new SlotPool(Infinity), 0, 1);
  readonly receivers: Receivers;
  /** Quota of its own, apart from handlers: a received message can take as long as its lease. */
  readonly suspects = new SuspectQuota();
  /** Number of receive() calls that run. */
  calls = 0;
  /** Resolves once its partitions can be used. */
  ready: Promise<void> | undefined;
  /** Resolves once the settings that this process has for it are stored. */
  said: Promise<void> | undefined;
  /** Consumer of the topic, known once it is {@link ready}. */
  consumer: TopicConsumer | undefined;
  readonly #clock: Clock;
  readonly #topics: Pick<TopicRegistry, 'settings' | 'terms'>;
  readonly #lease: number;
  #unreadableAt = -Infinity;
  #schema: StandardSchemaV1 | undefined;

  /** @param lease default lease of received messages, in milliseconds */
  constructor(clock: Clock, topic: string, topics: Pick<TopicRegistry, 'settings' | 'terms'>, lease: number) {
    this.topic = topic;
    this.#topics = topics;
    this.#lease = lease;
    this.receivers = new Receivers(clock, this.slots, () => this.found());
    this.#clock = clock;
  }

  /** Receivers take care of `delivery` themselves: at most once, a message is acknowledged before they get it. */
  get settings(): HandlerSettings {
    return { ...this.#settings, delivery: 'at-least-once', lease: this.#lease };
  }

  /** Whether all its messages are received at most once. */
  get isOnce(): boolean {
    return this.#settings.delivery === 'at-most-once';
  }

  get #settings(): TopicSettings {
    return settingsBeside(this.#topics.settings(this.topic), this.#topics.terms(this.topic));
  }

  cannotRead(): void {
    this.#unreadableAt = this.#clock.now();
  }

  /**
   * @param since epoch milliseconds on the local clock; it throws if a message could not be read since then
   * @throws ConfigurationError if its messages need a serializer that this process lacks
   */
  assertReadable(since: number): void {
    const isForOthers = this.#topics.terms(this.topic).handling?.serializer && !this.settings.serializer;
    if (isForOthers || this.#unreadableAt >= since) throw new ConfigurationError(withoutSerializer(this.topic));
  }

  /** Resolves once the messages that are due now are claimed, as far as receivers wait for them. */
  async found(): Promise<void> {
    await this.slots.idle();
    // A claim that found nothing has given back permits that another one waits for.
    if (this.consumer?.progress.limitedSince !== undefined) await sleep(this.#clock, GATHERING);
  }

  get schema(): StandardSchemaV1 | undefined {
    return this.#schema;
  }

  /** @throws InvalidArgumentError if it is received with another schema already */
  checkBy(schema: StandardSchemaV1 | undefined): void {
    if (schema && this.#schema && schema !== this.#schema) {
      throw new InvalidArgumentError(
        `Topic '${this.topic}' is received with another schema in this process already. Receive it with the same topic() everywhere.`,
      );
    }
    this.#schema ??= schema;
  }
}
