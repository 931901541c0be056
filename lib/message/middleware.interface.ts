import type { DelayedMessage } from './delayed-message.interface.js';
import type { PublishedMessage, PublishOptions } from './publish-options.interface.js';

/**
 * A message on its way out, as a {@link DelayQueueMiddleware} sees it.
 *
 * @publicApi
 */
export interface OutgoingMessage {
  readonly topic: string;
  readonly payload: unknown;
  /** As given to `publish()`; what counts of its headers is {@link headers}. */
  readonly options: Readonly<PublishOptions>;
  /** A copy of those given to `publish()`. What it holds when `next()` is called is published. */
  readonly headers: Record<string, string>;
}

/**
 * Stands around every publish and every handler call, as for a correlation id that travels in the headers. Each function
 * has to return or await `next()`, which may be called once.
 *
 * @example
 * ```ts
 * const correlation: DelayQueueMiddleware = {
 *   publish: async (messages, next) => {
 *     const id = context.getStore();
 *     if (id !== undefined) for (const { headers } of messages) headers['correlation-id'] = id;
 *     return next();
 *   },
 *   handle: async ([message], next) => context.run(message?.headers['correlation-id'], next),
 * };
 * ```
 *
 * @publicApi
 */
export interface DelayQueueMiddleware {
  /**
   * Around each call of `publish()` or `publishMany()`, with the messages of the call. They are checked, encoded and sent
   * within `next()`; without a call of it nothing is published. The caller gets what this function throws, or its result,
   * which has to be a list of one `PublishedMessage` a message.
   */
  publish?(messages: readonly OutgoingMessage[], next: () => Promise<PublishedMessage[]>): Promise<PublishedMessage[]>;
  /**
   * Around each handler call, with the messages of the call, and outside of whatever Nest runs around a handler. Where this
   * function throws, the attempt has failed; where it returns, the messages are acknowledged, also when it has caught what
   * `next()` threw. Its time counts towards the handler's `timeout`.
   */
  handle?(messages: readonly DelayedMessage[], next: () => Promise<unknown>): Promise<unknown>;
}
