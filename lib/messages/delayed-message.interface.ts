import type { FailedAttempt, Failure } from './failure.js';

/**
 * A message that has become a dead letter, as `@OnDeadLetter` hooks get it.
 *
 * @publicApi
 */
export interface DeadLetter<T = unknown> {
  readonly id: string;
  readonly key: string;
  readonly topic: string;
  readonly partition: number;
  /** Payload, not checked by a schema. `undefined` if it cannot be decoded or the serializer cannot read it; then use {@link raw}. */
  readonly payload: T;
  readonly headers: Readonly<Record<string, string>>;
  /** Reason why it died. */
  readonly failure: Failure;
  /** Number of attempts spent. */
  readonly attempts: number;
  /** Latest failed attempts, the last one first; at most 10. */
  readonly history: readonly FailedAttempt[];
  readonly diedAt: Date;
  /** Stored envelope. */
  readonly raw: string;
}

/**
 * A message as its handler sees it.
 *
 * @publicApi
 */
export interface DelayedMessage<T = unknown> {
  /** Id of the message, the same in each delivery. */
  readonly id: string;
  /** Topic that it was published to. */
  readonly topic: string;
  /** Index of its partition in the topic. */
  readonly partition: number;
  /** Its key; the id, if it was published without one. */
  readonly key: string;
  /** Payload as it was published; the same as the first argument of the handler. */
  readonly payload: T;
  /** Headers as they were published. */
  readonly headers: Readonly<Record<string, string>>;
  /** Number of this attempt, 1 for the first. */
  readonly attempt: number;
  /** Number of the attempt after which the message becomes a dead letter. */
  readonly maxAttempts: number;
  /** Time when it was published. */
  readonly publishedAt: Date;
  /** Time when this delivery was due, on the Redis server's clock; for a retry, the end of its backoff. */
  readonly dueAt: Date;
  /**
   * Aborts when the handler should stop. Its reason is a `HandlerTimeoutError`, or a `DeliveryAbortedError` with the code `LEASE_LOST`,
   * `CANCELLED` or `SHUTDOWN`.
   *
   * @see docs/reference/handling.md#the-abort-signal
   */
  readonly signal: AbortSignal;
  /**
   * The transaction that its handler runs in, as the library of your database hands it out, such as `trx` of Knex.
   *
   * @defaultValue only with the option `inbox` of the handler
   */
  readonly transaction?: unknown;
}
