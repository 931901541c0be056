import type { Duration } from '../../time/duration.js';
import type { Backoff } from '../../messages/backoff.js';

/**
 * Options of `@DelayedHandler()`. Options that you leave out come from the topic, then from the module.
 *
 * @publicApi
 */
export interface HandlerOptions {
  /** Most calls of this handler at once in this process, within the limit of the process. @defaultValue the process's own limit */
  concurrency?: number;
  /**
   * Most messages per call, 1 to 200. The handler is called with `(payloads, messages)`, two arrays for due messages of one
   * partition. It doesn't wait for a batch to fill. @defaultValue no batches
   */
  batch?: number;
  /** How many deliveries may fail before a message is a dead letter, 1 to 1000. @defaultValue the topic's */
  attempts?: number;
  /** Wait between attempts. @defaultValue the topic's */
  backoff?: Backoff;
  /** Longest run of one call. After that, its signal aborts and the attempt fails. @defaultValue the topic's */
  timeout?: Duration;
  /** How long a delivery belongs to this process; renewed while the handler runs. At least 1 s. @defaultValue the consumer's */
  lease?: Duration;
  /** Name of the connection whose messages it handles; see `forRoot({ name })`. @defaultValue 'default' */
  connection?: string;
  /**
   * What becomes of a message that a guard refuses by answering `false`: it is dead-lettered at once, retried like after a
   * failure, or acknowledged and so dropped. @defaultValue 'dead-letter'
   */
  onRefusal?: 'dead-letter' | 'retry' | 'ack';
}
