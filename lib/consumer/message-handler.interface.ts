import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { DelayedMessage } from '../messages/delayed-message.interface.js';
import type { Outlived } from '../time/inner-calls.js';
import type { TopicSettings } from '../fleet/topic-settings.interface.js';

/** What handles the messages of one or several topics: the runtime's view of a decorated method. */
export interface MessageHandler {
  /** For logs and errors, such as `OrderService.onTimeout`. */
  readonly name: string;
  /** Calls at once in this process. */
  readonly concurrency: number;
  /** In order of priority: an earlier one is emptied first. */
  readonly topics: readonly HandledTopic[];
  /** Most messages of one call; `undefined`: exactly one, which is no batch. */
  readonly batch: number | undefined;
  /**
   * Handles messages of one partition. Resolves: ack. Throws or rejects: nack. With {@link batch} it may resolve with what
   * `Promise.allSettled()` gives, an outcome for each message.
   *
   * @param outlived called before it settles, if something it has called still runs
   */
  handle(messages: readonly DelayedMessage[], outlived?: Outlived): unknown;
}

/** A topic, and how its messages are handled. */
export interface HandledTopic {
  readonly topic: string;
  /** What payloads are checked against before they are delivered. */
  readonly schema: StandardSchemaV1 | undefined;
  readonly settings: HandlerSettings;
  /** A message was put off, since it was published with a serializer that is not here. */
  cannotRead?(): void;
}

/** What is set for the messages of one topic in one handler: its own options, else those of the topic. */
export interface HandlerSettings extends TopicSettings {
  /** Milliseconds; 0 if the topic is delivered at most once, and nothing is leased. */
  readonly lease: number;
}
