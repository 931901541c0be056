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
  /** Not checked by a schema. `undefined` if it cannot be decoded or the serializer cannot read it; {@link raw} has it then. */
  readonly payload: T;
  readonly headers: Readonly<Record<string, string>>;
  /** Why it died. */
  readonly failure: Failure;
  /** Attempts spent. */
  readonly attempts: number;
  /** The latest attempts that failed, the last one first; at most 10. */
  readonly history: readonly FailedAttempt[];
  readonly diedAt: Date;
  /** The stored envelope. */
  readonly raw: string;
}

/**
 * A message as its handler sees it.
 *
 * @publicApi
 */
export interface DelayedMessage<T = unknown> {
  /** Names the message; the same in each delivery. */
  readonly id: string;
  /** Where it was published. */
  readonly topic: string;
  /** Where it is in the topic. */
  readonly partition: number;
  /** Its key; the id, if it was published without one. */
  readonly key: string;
  /** As it was published; the same as the first argument of the handler. */
  readonly payload: T;
  /** As they were published. */
  readonly headers: Readonly<Record<string, string>>;
  /** Which attempt this is, 1 for the first. */
  readonly attempt: number;
  /** The attempt after which the message becomes a dead letter. */
  readonly maxAttempts: number;
  /** When it was published. */
  readonly publishedAt: Date;
  /** When this delivery was due, on the Redis server's clock; for a retry, the end of its backoff. */
  readonly dueAt: Date;
  /**
   * Aborts when the handler should stop. Its reason is a `HandlerTimeoutError`, or a `DeliveryAbortedError` with the code `LEASE_LOST`,
   * `CANCELLED` or `SHUTDOWN`.
   *
   * @see docs/reference/handling.md#the-abort-signal
   */
  readonly signal: AbortSignal;
}
