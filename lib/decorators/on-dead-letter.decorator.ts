import type { TopicRef } from '../messages/topic.js';
import { ON_DEAD_LETTER_METADATA } from './delay-queue.constants.js';
import { mark } from './marks.js';

/**
 * How a hook is bound.
 *
 * @publicApi
 */
export interface OnDeadLetterOptions {
  /** Name of the connection whose dead letters it is told of. @defaultValue 'default' */
  readonly connection?: string;
}

/** What {@link OnDeadLetter} says of a method. */
export interface OnDeadLetterMetadata {
  readonly topic: TopicRef;
  readonly options: OnDeadLetterOptions;
}

/**
 * Marks a method of a provider or controller that is called with each dead letter of a topic, in the process that made it
 * one, once Redis has confirmed that it is dead. A topic may have several such methods, and a method several topics.
 *
 * It is called at most once: if the process ends between the confirmation and the call, nobody is told. What counts is what
 * is stored, see `DelayQueueAdmin`. What the method throws is logged and changes nothing. Dead letters of other processes are
 * told there. A shutdown waits for it within `shutdownTimeout`. The hooks of 10 dead letters run at once and 1,000 wait;
 * beyond that, they are dropped with an error in the log.
 *
 * Guards, interceptors, pipes and filters do not run around it. Its class cannot be request-scoped or transient.
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
