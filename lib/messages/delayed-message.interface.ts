/**
 * A message as its handler sees it.
 *
 * @publicApi
 */
export interface DelayedMessage<T = unknown> {
  readonly id: string;
  readonly topic: string;
  readonly partition: number;
  readonly key: string;
  readonly payload: T;
  readonly headers: Readonly<Record<string, string>>;
  /** Which attempt this is, 1 for the first. */
  readonly attempt: number;
  /** The attempt after which the message becomes a dead letter. */
  readonly maxAttempts: number;
  readonly publishedAt: Date;
  /** When this delivery was due, on the Redis server's clock; for a retry, the end of its backoff. */
  readonly dueAt: Date;
  /**
   * Aborts when the handler should stop. Its reason is a `HandlerTimeoutError`, or a `DeliveryAbortedError` with the code
   * `LEASE_LOST`, `CANCELLED` or `SHUTDOWN`.
   */
  readonly signal: AbortSignal;
}
