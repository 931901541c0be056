import type { Duration } from '../../time/duration.js';
import type { Backoff } from '../../messages/backoff.js';

/**
 * Options of `@DelayedHandler()`. Options that you leave out come from the topic, then from the module.
 *
 * @publicApi
 */
export interface HandlerOptions {
  /**
   * Most calls of this handler at once in this process, 1 to 100,000, within the limit of the process.
   *
   * @defaultValue the process's own limit
   */
  concurrency?: number;
  /**
   * Most messages per call, 1 to 200. The handler is called with `(payloads, messages)`, two arrays for due messages of one partition. It
   * doesn't wait for a batch to fill.
   *
   * @defaultValue no batches
   * @see docs/reference/handling.md#batches
   */
  batch?: number;
  /** Number of failed deliveries after which a message is a dead letter, 1 to 1000. @defaultValue the topic's */
  attempts?: number;
  /**
   * Wait between attempts.
   *
   * @defaultValue the topic's
   * @see docs/reference/options.md#backoff
   */
  backoff?: Backoff;
  /** Longest run of one call, at least 1 ms. After that, its signal aborts and the attempt fails. @defaultValue the topic's */
  timeout?: Duration;
  /**
   * Time for which a delivery belongs to this process, at least 1 s; renewed three times per lease while the handler runs.
   *
   * @defaultValue the consumer's
   */
  lease?: Duration;
  /**
   * Name of the connection whose messages it handles, as given to `forRoot({ name })`.
   *
   * @defaultValue 'default'
   * @see docs/reference/options.md#several-connections
   */
  connection?: string;
  /**
   * Outcome of a message that a guard refuses by returning `false`: it is dead-lettered at once, retried like after a failure, or
   * acknowledged and so dropped.
   *
   * @defaultValue 'dead-letter'
   * @see docs/reference/pipeline.md
   */
  onRefusal?: 'dead-letter' | 'retry' | 'ack';
  /**
   * Whether the handler runs in a transaction of your database, in which it is recorded that the message was handled: so it has its effects
   * there once, however often the message is delivered. It needs `DelayQueueOutboxModule`; not with `batch`, nor at most once.
   *
   * @defaultValue false
   * @see docs/guides/transactions.md#handle-in-a-transaction
   */
  inbox?: boolean;
}
