import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { DelayedMessage } from '../message/delayed-message.interface.js';
import type { ActiveBackoff } from '../topics/topic-settings.interface.js';

/** What handles the messages of one or several topics: the runtime's view of a decorated method. */
export interface MessageHandler {
  /** For logs and errors, such as `OrderService.onTimeout`. */
  readonly name: string;
  /** Calls at once in this process. */
  readonly concurrency: number;
  /** In order of priority: an earlier one is emptied first. */
  readonly topics: readonly HandledTopic[];
  /** Resolves: ack. Throws or rejects: nack. */
  handle(message: DelayedMessage): unknown;
}

/** A topic, and how its messages are handled. */
export interface HandledTopic {
  readonly topic: string;
  /** What payloads are checked against before they are delivered. */
  readonly schema: StandardSchemaV1 | undefined;
  readonly settings: HandlerSettings;
}

/** What is set for the messages of one topic in one handler, defaults filled in. Times in milliseconds. */
export interface HandlerSettings {
  readonly attempts: number;
  readonly backoff: ActiveBackoff;
  readonly timeout: number | undefined;
  readonly lease: number;
  readonly expireAfter: number | undefined;
  readonly deadLetter: { readonly maxAge: number | undefined; readonly maxCount: number | undefined };
}
