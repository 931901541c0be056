import type { MessageRef } from '../messages/message-ref.js';
import type { TransactionOptions } from '../messages/publish-options.interface.js';
import type { Handles } from '../middleware/middleware-layers.js';
import type { PublishRequest } from './publish-request.js';

/** A request with the time at which its message is due. */
export type DatedRequest = PublishRequest & { readonly due: { readonly at: number } };

/** Writes calls into the outbox, within one transaction. */
export interface OutboxWriter {
  publish(topic: string, requests: readonly DatedRequest[]): Promise<void>;
  /** Resolves with the result, if the topic has an inbox. */
  cancel(topic: string, ref: MessageRef): Promise<'cancelled' | 'done' | undefined>;
  /**
   * Resolves with the result, if the topic has an inbox.
   *
   * @param dueAt epoch milliseconds on the clock of Redis
   */
  reschedule(topic: string, ref: MessageRef, dueAt: number): Promise<'moved' | 'done' | 'not-found' | undefined>;
}

/**
 * Keeps calls that are part of a transaction of the user's database until it is committed, and handles messages of topics with an inbox in one.
 */
export interface Outbox {
  /**
   * Returns the writer for a call; `undefined` if the call goes to Redis at once.
   *
   * @throws TransactionRequiredError, InvalidArgumentError
   */
  writerFor(topic: string, options: TransactionOptions | undefined): OutboxWriter | undefined;
  /** Call this before the first use. @throws ConfigurationError if it cannot work */
  open(): Promise<void>;
  /** Tells all processes that topics have an inbox. Call this before any of their messages is handled. */
  announce(topics: readonly string[]): Promise<void>;
  /** Returns a handler that has its effects once for each message, since it runs in a transaction with a record of that. */
  handleOnce<H extends Handles>(handler: H): H;
  /** Begins to bring to Redis what is committed. Call this once the connection is up. */
  start(): void;
  /** Ends that. Can be called twice, and before {@link start}. */
  stop(): Promise<void>;
}
