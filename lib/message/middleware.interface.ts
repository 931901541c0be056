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
 * Stands around every publish and every handler call, as for a correlation id that is to travel in the headers. Each
 * function has to `await` or return `next()`, which may be called once. The first middleware is the outermost.
 *
 * @example
 * ```ts
 * const correlation: DelayQueueMiddleware = {
 *   publish: async (messages, next) => {
 *     const id = context.getStore();
 *     if (id !== undefined) for (const { headers } of messages) headers['correlation-id'] ??= id;
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
   * Around each call of `publish()` or `publishMany()`, with the messages of the call. What is checked of a message is
   * checked within `next()`. Without a call of `next()` nothing is published; the caller gets what this function returns,
   * which has to be one result a message, or what it throws.
   */
  publish?(messages: readonly OutgoingMessage[], next: () => Promise<PublishedMessage[]>): Promise<PublishedMessage[]>;
  /**
   * Around each handler call, with its message. To throw is to fail the attempt, and to catch what `next()` throws is to
   * acknowledge.
   */
  handle?(messages: readonly DelayedMessage[], next: () => Promise<unknown>): Promise<unknown>;
}
