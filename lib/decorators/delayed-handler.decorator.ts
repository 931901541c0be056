import { DELAYED_HANDLER_METADATA, ENTRY_PROVIDER_METADATA } from '../delay-queue.constants.js';
import type { HandlerOptions } from '../interfaces/handler-options.interface.js';
import type { HandledPayload, NamedTopic } from '../message/payload-types.js';
import type { TopicRef } from '../message/topic.js';
import type { HandlerDecorator } from './handler-decorator.js';

/** What {@link DelayedHandler} leaves on a method. */
export interface DelayedHandlerMetadata {
  /** In order of priority. */
  readonly topics: readonly TopicRef[];
  readonly options: HandlerOptions;
}

/**
 * Marks a method of a provider or controller as the handler of a topic. It is called with `(payload, message)`, once for
 * each delivery. Returning, resolving or completing (an Observable) acknowledges the message; throwing means it is retried
 * after its backoff, and becomes a dead letter once its attempts are used up.
 *
 * A topic has one handler in a process. The class has to be registered as a provider or controller, else its methods are
 * not found; nothing can warn of that.
 *
 * A method whose parameters do not fit the payload of a typed topic, or of a name in `DelayQueueTopics`, does not compile;
 * of several topics, the payload is any of theirs. Where something else decides what the method is called with, as a pipe
 * does, hand the topic over as any topic: `@DelayedHandler(orderTimeout as TopicRef)`. Its schema goes on checking payloads,
 * which it would not with `orderTimeout.name`.
 *
 * @example
 * ```ts
 * @DelayedHandler('order.timeout', { attempts: 3 })
 * async onTimeout(payload: { orderId: string }, message: DelayedMessage) {
 *   await this.closeIfUnpaid(payload.orderId);
 * }
 * ```
 *
 * @publicApi
 */
export function DelayedHandler<
  const R extends NamedTopic | readonly NamedTopic[],
  B extends number | undefined = undefined,
>(topic: R, options: HandlerOptions & { readonly batch?: B } = {}): HandlerDecorator<HandledPayload<R>, B> {
  const decorate: MethodDecorator = (target, _property, descriptor) => {
    const topics = Array.isArray(topic) ? [...(topic as readonly TopicRef[])] : [topic as TopicRef];
    const metadata: DelayedHandlerMetadata = { topics, options };
    Reflect.defineMetadata(DELAYED_HANDLER_METADATA, metadata, descriptor.value as object);
    Reflect.defineMetadata(ENTRY_PROVIDER_METADATA, true, target.constructor);
  };
  return decorate;
}
