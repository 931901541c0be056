import type { Duration } from '../time/duration.js';
import type { LocalTime } from '../time/local-time.js';
import type { StoredBackoff } from './backoff.js';
import type { ReplicaOptions } from './replicas.js';

/**
 * How a call goes together with a transaction of your database; needs `DelayQueueOutboxModule`.
 *
 * @see docs/guides/transactions.md
 *
 * @publicApi
 */
export interface TransactionOptions {
  /**
   * `true`: the call has to be part of a transaction. `false`: it goes to Redis at once.
   *
   * @defaultValue part of the current transaction, if there is one
   */
  outbox?: boolean;
  /** Transaction that it is part of, as the library of your database hands it out. @defaultValue the current one */
  transaction?: unknown;
}

/**
 * A call was written to your database and takes effect after the commit, so its result is not known yet.
 *
 * @publicApi
 */
export interface WrittenToOutbox {
  readonly outbox: true;
}

/**
 * Options of a message. Times are on the Redis server's clock, so the clock of this machine doesn't matter.
 *
 * @publicApi
 */
export interface PublishOptions extends TransactionOptions {
  /**
   * Id of the message, 1 to 256 characters. While the message exists or is kept as finished, the id is unique among the topic's messages
   * with the same {@link key}; without a key, it is unique in the topic.
   *
   * @defaultValue a UUIDv7
   * @see docs/guides/finished.md
   */
  id?: string;
  /** Key that determines the partition, 1 to 256 characters: messages with the same key are in the same partition. @defaultValue the id */
  key?: string;
  /** Time from now until the message is due, 0 to 10 years, on the Redis server's clock. @defaultValue due at once */
  delay?: Duration;
  /**
   * Time when the message is due, at most 10 years ahead: a `Date`, epoch milliseconds, or a local time in a time zone. A past time means
   * at once. Can't be combined with `delay`.
   *
   * @defaultValue due at once
   * @see docs/guides/schedules.md#one-message-at-a-local-time
   */
  deliverAt?: Date | number | LocalTime;
  /** Number of failed deliveries after which the message is a dead letter, 1 to 1000. @defaultValue the handler's */
  attempts?: number;
  /**
   * Wait between the attempts.
   *
   * @defaultValue the handler's
   * @see docs/reference/options.md#backoff
   */
  backoff?: StoredBackoff;
  /** Longest run of one handler call, at least 1 ms. @defaultValue the handler's */
  timeout?: Duration;
  /**
   * If the message is not delivered for the first time within this time after its due time, it becomes a dead letter. At least 1 ms.
   *
   * @defaultValue the topic's
   */
  expireAfter?: Duration;
  /** Headers stored with the payload, for example for correlation ids. @defaultValue none */
  headers?: Record<string, string>;
  /**
   * Words for listing and cancelling messages together: at most 8, each 1 to 128 characters long. Stored with the message.
   *
   * @defaultValue none
   * @see docs/guides/tags.md
   */
  tags?: string[];
  /**
   * Effect if the id exists. `'reject'` throws `DuplicateMessageError`. `'ignore'` leaves the first message unchanged. `'replace'` gives it
   * the new payload, options and due time (a debounce). `'earliest'` leaves it unchanged, but due at the earlier of both times; if it is in
   * flight or a dead letter, nothing changes. If the message has ended and is kept by the topic's option `finished`, `'replace'` publishes
   * a new one, and the others do the same as if it still existed.
   *
   * @defaultValue 'reject'
   * @see docs/reference/publishing.md#duplicates
   */
  onDuplicate?: 'reject' | 'ignore' | 'replace' | 'earliest';
  /**
   * Only with `onDuplicate: 'replace'`: however often the message is replaced, it is due at most this long after the first publish that had
   * this option, 0 to 10 years. Once the message has been delivered, the time starts again.
   *
   * @defaultValue none
   * @see docs/reference/publishing.md#longest-wait
   */
  maxWait?: Duration;
  /**
   * Number of Redis replicas that have to confirm the publish, and the time limit for that; otherwise it rejects with `NotReplicatedError`.
   *
   * @defaultValue the module's
   * @see docs/reference/publishing.md#confirmed-by-replicas
   */
  replicas?: ReplicaOptions;
}

/**
 * Result of publishing a message.
 *
 * @publicApi
 */
export interface ConfirmedPublish {
  /** Id that it was published with, or the generated one. */
  id: string;
  /** Topic that it was published to. */
  topic: string;
  /** Index of its partition in the topic. */
  partition: number;
  /** Time when the stored message is due, on the Redis server's clock. */
  dueAt: Date;
  /**
   * Whether the id existed. Then the message was left as it is (`'ignore'`, `'earliest'`) or replaced (`'replace'`). `false` if it took the
   * place of a finished one.
   */
  duplicate: boolean;
}

/**
 * Result of publishing a message. If it was written to the outbox, `partition` and `duplicate` are not known.
 *
 * @publicApi
 */
export interface PublishedMessage
  extends Pick<ConfirmedPublish, 'id' | 'topic' | 'dueAt'>, Partial<Pick<ConfirmedPublish, 'partition' | 'duplicate'>> {
  /** Whether it was written to your database, from where it comes to Redis after the commit. @defaultValue it is in Redis */
  outbox?: true;
}
