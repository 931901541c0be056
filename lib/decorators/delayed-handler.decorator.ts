import type { DelayedMessage } from '../messages/delayed-message.interface.js';
import type { HandledPayload, NamedTopic } from '../messages/payload-types.js';
import type { TopicRef } from '../messages/topic.js';
import { DELAYED_HANDLER_METADATA } from './delay-queue.constants.js';
import type { HandlerOptions } from './handler-options.interface.js';
import { mark } from './marks.js';

/** What {@link DelayedHandler} says of a method. */
export interface DelayedHandlerMetadata {
  /** In order of priority. */
  readonly topics: readonly TopicRef[];
  readonly options: HandlerOptions;
}

/**
 * What a handler of payloads `P` is called with. `B` is the type of its option `batch`: `undefined`, a literal number, or a
 * `number` that is known at run time only.
 *
 * @publicApi
 */
export type HandlerMethodFor<P, B extends number | undefined> = [B] extends [undefined]
  ? (payload: P, message: DelayedMessage<P>) => unknown
  : | ((payloads: P[], messages: DelayedMessage<P>[]) => unknown)
    | (number extends B ? (payload: P, message: DelayedMessage<P>) => unknown : never);

/**
 * Decorates methods that can be called with a payload `P`; any method, if the compiler does not know `P`. Private and
 * protected ones too: the method itself is compared, not a property of the class.
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
 * With `batch` it is called with `(payloads, messages)`: at most that many messages of one partition that are due. It does
 * not wait for more. Returning acknowledges all of them and throwing fails each of them, unless it returns what
 * `Promise.allSettled()` gives for them: then each message has its own outcome, and a `reason` counts as if it was thrown
 * for that message. If such results are not one for each message, all fail with an `InvalidArgumentError`.
 *
 * Several topics share the handler's `concurrency`, in order of priority: while anything of an earlier one is due in the
 * partitions that this process owns, nothing more is taken from a later one. So a steady stream on the earlier one starves
 * the later one. What is due in other processes does not hold this one back.
 *
 * A topic has one handler in a process. Its class has to be registered as a provider or controller: the methods of other
 * classes are not found, and nothing can warn of that. A method that overrides it in a subclass takes its place, also without
 * a decorator. Several decorators of this library on one method all hold.
 *
 * A method whose parameters do not fit the payload of a typed topic, or of a name in `DelayQueueTopics`, does not compile;
 * of several topics, the payload is any of theirs. If something else decides what the method is called with, such as a
 * pipe, hand the topic over as any topic: `@DelayedHandler(orderTimeout as TopicRef)`. Its schema still checks payloads,
 * which it would not with `orderTimeout.name`.
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
