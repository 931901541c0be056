import type { TopicRef } from '../../messages/topic.js';
import { ON_DEAD_LETTER_METADATA } from './delay-queue.tokens.js';
import { mark } from './marks.js';

/**
 * Options of `@OnDeadLetter()`.
 *
 * @publicApi
 */
export interface OnDeadLetterOptions {
  /** Name of the connection whose dead letters it gets. @defaultValue 'default' */
  readonly connection?: string;
}

/** Metadata that {@link OnDeadLetter} stores for a method. */
export interface OnDeadLetterMetadata {
  readonly topic: TopicRef;
  readonly options: OnDeadLetterOptions;
}

/**
 * Marks a method of a provider or controller to be called with each dead letter of a topic, in the process that made it one, once Redis has
 * confirmed it. A topic can have several such methods, and a method several topics.
 *
 * It is called at most once: if the process ends between the confirmation and the call, nobody is notified. Rely on the stored dead
 * letters, see `DelayQueueAdmin`. An error that the method throws is logged and changes nothing. A shutdown waits for it within
 * `shutdownTimeout`. The methods of 10 dead letters run at once and 1,000 wait; beyond that, calls are dropped with an error in the log.
 *
 * Guards, interceptors, pipes and filters don't run around it. Its class can't be request-scoped or transient.
 *
 * @example
 * ```ts
 * @OnDeadLetter('order.timeout')
 * async onDeadLetter({ id, payload, failure, history }: DeadLetter<{ orderId: string }>) {
 *   await this.alerts.send(`Order ${payload.orderId}: ${failure.message}, after ${history.length} attempts`);
 * }
 * ```
 *
 * @throws ConfigurationError at boot, naming class and method, if it cannot work
 *
 * @publicApi
 */
export function OnDeadLetter(topic: TopicRef, options: OnDeadLetterOptions = {}): MethodDecorator {
  const metadata: OnDeadLetterMetadata = { topic, options };
  return (...place) => mark(ON_DEAD_LETTER_METADATA, 'OnDeadLetter', place, metadata);
}
