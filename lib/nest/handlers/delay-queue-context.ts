import type { ArgumentsHost } from '@nestjs/common';
import { InvalidArgumentError } from '../../errors/options.errors.js';
import type { DelayedMessage } from '../../messages/delayed-message.interface.js';

/** Result of `context.getType()` in guards, interceptors, pipes and filters that run on a delayed handler. */
export const CONTEXT_TYPE = 'delay-queue';

/**
 * A delivery as a guard, an interceptor or an exception filter sees it.
 *
 * @example
 * ```ts
 * canActivate(context: ExecutionContext): boolean {
 *   if (context.getType<string>() !== 'delay-queue') return true;
 *   const { message } = DelayQueueContext.from<{ orderId: string }>(context);
 *   return message.headers['tenant'] !== undefined;
 * }
 * ```
 *
 * @publicApi
 */
export class DelayQueueContext<T = unknown> {
  /** Payload that the handler is called with; with `batch`, the payloads of all messages. */
  readonly payload: unknown;
  /** Messages of this call: one, or those of a batch. */
  readonly messages: readonly DelayedMessage<T>[];
  readonly #isBatch: boolean;

  private constructor(payload: unknown, message: DelayedMessage<T> | readonly DelayedMessage<T>[]) {
    this.payload = payload;
    this.#isBatch = Array.isArray(message);
    this.messages = this.#isBatch
      ? (message as readonly DelayedMessage<T>[])
      : Object.freeze([message as DelayedMessage<T>]);
  }

  /** @throws InvalidArgumentError if the context belongs to something else, such as an HTTP request */
  static from<T = unknown>(host: ArgumentsHost): DelayQueueContext<T> {
    const type = host.getType<string>();
    if (type !== CONTEXT_TYPE) {
      throw new InvalidArgumentError(
        `DelayQueueContext.from() takes the context of a delayed handler, whose type is '${CONTEXT_TYPE}'. Given: one of ` +
          `type '${type}'. Ask context.getType() first if the same class serves others too.`,
      );
    }
    return new DelayQueueContext<T>(host.getArgByIndex(0), host.getArgByIndex(1));
  }

  /**
   * Message of this call.
   *
   * @throws InvalidArgumentError if the handler takes batches; see {@link messages}
   */
  get message(): DelayedMessage<T> {
    const [message] = this.messages;
    if (this.#isBatch || message === undefined) {
      throw new InvalidArgumentError('The handler takes batches: use `messages`, which has one or more.');
    }
    return message;
  }
}
