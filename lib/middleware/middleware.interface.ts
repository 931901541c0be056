import type { DelayedMessage } from '../messages/delayed-message.interface.js';
import type { Failure } from '../messages/failure.js';
import type { PublishedMessage, PublishOptions } from '../messages/publish-options.interface.js';
import type { SettleStatus } from '../messages/settle-status.js';

/**
 * A message on its way out, as a {@link DelayQueueMiddleware} sees it.
 *
 * @publicApi
 */
export interface OutgoingMessage {
  readonly topic: string;
  readonly payload: unknown;
  /** Options as given to `publish()`; in place of their headers, {@link headers} count. */
  readonly options: Readonly<PublishOptions>;
  /** Copy of the headers given to `publish()`. Its content at the call of `next()` is published. */
  readonly headers: Record<string, string>;
}

/**
 * Outcome of a delivery, as a {@link DelayQueueMiddleware} sees it.
 *
 * @publicApi
 */
export interface DeliveryOutcome {
  readonly topic: string;
  readonly partition: number;
  readonly id: string;
  readonly key: string;
  /** Number of the attempt, 1 for the first. */
  readonly attempt: number;
  /** Same object that `handle` got; `undefined` if the message could not be handed over. */
  readonly message: DelayedMessage | undefined;
  /**
   * Kind of outcome. `put-off`: the message comes again without having spent the attempt. `release`: it comes back at once, as if it had
   * not been delivered.
   */
  readonly outcome: 'ack' | 'retry' | 'put-off' | 'dead' | 'release';
  /** Time until a message that is retried or put off comes again, in milliseconds. */
  readonly delay: number | undefined;
  /** Reason why a message is retried or dead. */
  readonly failure: Failure | undefined;
}

/**
 * Wraps every publish, every handler call and every settle, for example to pass on a correlation id in the headers. Each function has to
 * return or await `next()`, which can be called once.
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
   * Wraps each call of `publish()` or `publishMany()`, with the messages of the call. They are checked, encoded and sent within `next()`;
   * without a call of it nothing is published. The caller gets the error of this function, or its result, which has to be a list of one
   * `PublishedMessage` per message.
   */
  publish?(messages: readonly OutgoingMessage[], next: () => Promise<PublishedMessage[]>): Promise<PublishedMessage[]>;
  /**
   * Wraps each handler call, with the messages of the call, outside of everything that Nest runs around a handler. If this function throws,
   * the attempt has failed; if it returns, the messages are acknowledged, even if it has caught an error of `next()`. Its time counts
   * towards the handler's `timeout`.
   */
  handle?(messages: readonly DelayedMessage[], next: () => Promise<unknown>): Promise<unknown>;
  /**
   * Wraps each call that sends the outcomes of deliveries of one partition to Redis, 1 to 200 at a time: those that came up during the
   * previous call travel together. `next()` resolves once Redis has answered, with one status per outcome; it rejects if that is given up.
   * This function only observes: nothing that it returns, throws or leaves out changes an outcome, and its first failure in a partition is
   * logged. The next outcomes of the partition wait until it is done.
   */
  settle?(outcomes: readonly DeliveryOutcome[], next: () => Promise<readonly SettleStatus[]>): Promise<unknown>;
}
