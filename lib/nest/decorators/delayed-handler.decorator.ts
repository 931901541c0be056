import type { DelayedMessage } from '../../messages/delayed-message.interface.js';
import type { HandledPayload, NamedTopic } from '../../messages/payload-types.js';
import type { TopicRef } from '../../messages/topic.js';
import { DELAYED_HANDLER_METADATA } from './delay-queue.tokens.js';
import type { HandlerOptions } from './handler-options.interface.js';
import { mark } from './marks.js';

/** Metadata that {@link DelayedHandler} stores for a method. */
export interface DelayedHandlerMetadata {
  /** Topics in order of priority. */
  readonly topics: readonly TopicRef[];
  readonly options: HandlerOptions;
}

/**
 * Signature of a handler of payloads `P`. `B` is the type of its option `batch`: `undefined`, a literal number, or a `number` that is known
 * only at run time.
 *
 * @publicApi
 */
export type HandlerMethodFor<P, B extends number | undefined> = [B] extends [undefined]
  ? (payload: P, message: DelayedMessage<P>) => unknown
  : | ((payloads: P[], messages: DelayedMessage<P>[]) => unknown)
    | (number extends B ? (payload: P, message: DelayedMessage<P>) => unknown : never);

/**
 * Decorates methods that can be called with a payload `P`; any method if the compiler does not know `P`. Private and protected methods work
 * too: the method itself is compared, not a property of the class.
 *
 * @publicApi
 */
export type HandlerDecorator<P, B extends number | undefined> = unknown extends P
  ? MethodDecorator
  : <M extends HandlerMethodFor<P, B>>(
      target: object,
      property: string | symbol,
      descriptor: TypedPropertyDescriptor<M>,
    ) => void;

/**
 * Marks a method of a provider or controller as the handler of a topic. It is called with `(payload, message)`, once for
 * each delivery. Returning, resolving or completing (an Observable) acknowledges the message; throwing means it is retried
 * after its backoff, and becomes a dead letter once its attempts are used up.
 *
 * With `batch` it is called with `(payloads, messages)`: at most that many due messages of one partition. It doesn't wait for
 * more. Returning acknowledges all of them and throwing fails each of them. If it returns what `Promise.allSettled()` returns,
 * each message has its own outcome, and a `reason` counts as if it had been thrown for that message. If there is not one result
 * per message, all fail with an `InvalidArgumentError`.
 *
 * Several topics share the handler's `concurrency`, in order of priority: while an earlier topic has anything due in the
 * partitions that this process owns, no more messages are taken from a later one. So a steady stream on the earlier topic
 * starves the later one. Messages that are due in other processes don't hold this one back.
 *
 * A topic has one handler per process. Register its class as a provider or controller: the methods of other classes are not
 * found, and nothing can warn you of that. A method that overrides the handler in a subclass takes its place, even without a
 * decorator. If a method has several decorators of this library, all of them apply.
 *
 * A method whose parameters don't match the payload of a typed topic, or of a name in `DelayQueueTopics`, does not compile;
 * with several topics, the payload can be any of theirs. If something else decides what the method is called with, such as a
 * pipe, remove the type: `@DelayedHandler(orderTimeout as TopicRef)`. The topic's schema still checks payloads, which it
 * wouldn't do with `orderTimeout.name`.
 *
 * @example
 * ```ts
 * @DelayedHandler('order.timeout', { attempts: 3 })
 * async onTimeout(payload: { orderId: string }, message: DelayedMessage) {
 *   await this.closeIfUnpaid(payload.orderId);
 * }
 *
 * @DelayedHandler(['order.express', 'order.standard'], { batch: 50 })
 * async ship(payloads: { orderId: string }[], messages: DelayedMessage[]) {
 *   return Promise.allSettled(payloads.map(({ orderId }) => this.shipOne(orderId)));
 * }
 * ```
 *
 * @param topic a topic or its name, or several in order of priority
 * @throws ConfigurationError at boot, naming class and method, if topics or options cannot work
 *
 * @publicApi
 */
export function DelayedHandler<
  const R extends NamedTopic | readonly NamedTopic[],
  B extends number | undefined = undefined,
>(topic: R, options: HandlerOptions & { readonly batch?: B } = {}): HandlerDecorator<HandledPayload<R>, B> {
  const topics = Array.isArray(topic) ? [...(topic as readonly TopicRef[])] : [topic as TopicRef];
  const metadata: DelayedHandlerMetadata = { topics, options };
  const decorate: MethodDecorator = (...place) => mark(DELAYED_HANDLER_METADATA, 'DelayedHandler', place, metadata);
  return decorate;
}
