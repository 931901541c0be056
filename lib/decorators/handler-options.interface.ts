import type { Duration } from '../time/duration.js';
import type { Backoff } from '../messages/backoff.js';

/**
 * Options of `@DelayedHandler()`. What is left out comes from the topic, then from the module.
 *
 * @publicApi
 */
export interface HandlerOptions {
  /** Calls of this handler at once in this process, within the limit of the process. @defaultValue the process's own limit */
  concurrency?: number;
  /**
   * Most messages of one call, 1 to 200: the handler is called with `(payloads, messages)`, two arrays for messages of one
   * partition that are due. It does not wait until a batch is full. @defaultValue no batches
   */
  batch?: number;
  /** How many deliveries may fail before a message is a dead letter, 1 to 1000. @defaultValue the topic's */
  attempts?: number;
  /** Wait between attempts. @defaultValue the topic's */
  backoff?: Backoff;
  /** Longest run of one call; after it, its signal aborts and the attempt has failed. @defaultValue the topic's */
  timeout?: Duration;
  /** For how long a delivery belongs to this process; renewed while the handler runs. At least 1 s. @defaultValue the consumer's */
  lease?: Duration;
  /** Name of the connection whose messages it handles; see `forRoot({ name })`. @defaultValue 'default' */
  connection?: string;
  /**
   * What becomes of a message that a guard refuses by answering `false`: it is dead-lettered at once, retried like after a
   * failure, or acknowledged and so dropped. @defaultValue 'dead-letter'
   */
  onRefusal?: 'dead-letter' | 'retry' | 'ack';
}
