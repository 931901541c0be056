import type { DelayedMessage } from '../message/delayed-message.interface.js';
import type { ActiveBackoff } from '../topics/topic-settings.interface.js';

/** What handles the messages of a topic: the runtime's view of a decorated method. */
export interface MessageHandler {
  readonly topic: string;
  /** For logs and errors, such as `OrderService.onTimeout`. */
  readonly name: string;
  readonly settings: HandlerSettings;
  /** Resolves: ack. Throws or rejects: nack. */
  handle(payload: unknown, message: DelayedMessage): unknown;
}

/** All that is set for a handler, defaults filled in. Times in milliseconds. */
export interface HandlerSettings {
  readonly concurrency: number;
  readonly attempts: number;
  readonly backoff: ActiveBackoff;
  readonly timeout: number | undefined;
  readonly lease: number;
  readonly expireAfter: number | undefined;
  readonly deadLetter: { readonly maxAge: number | undefined; readonly maxCount: number | undefined };
}
