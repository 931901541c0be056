import type { StandardSchemaV1 } from '@standard-schema/spec';
import { InvalidArgumentError } from '../../errors/options.errors.js';
import type { TopicSettings } from '../../fleet/topic-settings.interface.js';
import type { Clock } from '../../time/clock.js';
import { sleep } from '../../time/sleep.js';
import { HandlerSlots, SlotPool } from '../capacity/handler-slots.js';
import { SuspectQuota } from '../capacity/suspect-quota.js';
import type { HandledTopic, HandlerSettings } from '../message-handler.interface.js';
import type { TopicConsumer } from '../ownership/topic-consumer.js';
import { GATHERING, Receivers } from './receivers.js';

/** A topic that this process pulls, or settles messages of: what its partitions have in common. */
export class PulledTopic implements HandledTopic {
  readonly topic: string;
  readonly settings: HandlerSettings;
  /** One for each message that is waited for. */
  readonly slots = new HandlerSlots(new SlotPool(Infinity), 0, 1);
  readonly receivers: Receivers;
  /** Not those of handlers: what was received may take as long as its lease. */
  readonly suspects = new SuspectQuota();
  /** How many calls of receive() run. */
  calls = 0;
  /** Resolves once its partitions can be used. */
  ready: Promise<void> | undefined;
  /** Known once it is {@link ready}. */
  consumer: TopicConsumer | undefined;
  readonly #clock: Clock;
  #schema: StandardSchemaV1 | undefined;

  /** @param settings `delivery` is the business of those who receive: for them a message is acknowledged before they get it */
  constructor(clock: Clock, topic: string, settings: TopicSettings & { readonly lease: number }) {
    this.topic = topic;
    this.settings = { ...settings, delivery: 'at-least-once' };
    this.receivers = new Receivers(clock, this.slots, () => this.found());
    this.#clock = clock;
  }

  /** Resolves once what is due now was claimed, as far as anybody waits for it. */
  async found(): Promise<void> {
    await this.slots.idle();
    // A claim that found nothing has given back what another waits for to be permitted.
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
