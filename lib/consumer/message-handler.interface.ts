import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { DelayedMessage } from '../messages/delayed-message.interface.js';
import type { Outlived } from '../time/inner-calls.js';
import type { TopicSettings } from '../fleet/topic-settings.interface.js';

/** A handler of the messages of one or several topics: the runtime's view of a decorated method. */
export interface MessageHandler {
  /** Name for logs and errors, such as `OrderService.onTimeout`. */
  readonly name: string;
  /** Most calls at once in this process. */
  readonly concurrency: number;
  /** Topics in order of priority: an earlier one is emptied first. */
  readonly topics: readonly HandledTopic[];
  /** Most messages of one call; `undefined`: exactly one, not as a batch. */
  readonly batch: number | undefined;
  /** Whether it runs in a transaction with a record of the message. @defaultValue false */
  readonly inbox?: boolean;
  /**
   * Handles messages of one partition. Resolves: ack. Throws or rejects: nack. With {@link batch} it may resolve with what
   * `Promise.allSettled()` gives, an outcome for each message.
   *
   * @param outlived called before the result settles, if something that it called still runs
   */
  handle(messages: readonly DelayedMessage[], outlived?: Outlived): unknown;
}

/** A topic with the settings for handling its messages. */
export interface HandledTopic {
  readonly topic: string;
  /** Schema that payloads must match before they are delivered. */
  readonly schema: StandardSchemaV1 | undefined;
  readonly settings: HandlerSettings;
  /** Called when a message is put off because this process lacks the serializer that it was published with. */
  cannotRead?(): void;
}

/** Settings for the messages of one topic in one handler: the handler's own options, else those of the topic. */
export interface HandlerSettings extends TopicSettings {
  /** Milliseconds; 0 if the topic is delivered at most once, so nothing is leased. */
  readonly lease: number;
}
