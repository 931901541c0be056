import type { Duration } from '../time/duration.js';
import type { LocalTime } from '../time/local-time.js';
import type { StoredBackoff } from './backoff.js';
import type { ReplicaOptions } from './replicas.js';

/**
 * How one message is published. Times are on the Redis server's clock, so the clock of this machine does not matter.
 *
 * @publicApi
 */
export interface PublishOptions {
  /**
   * Names the message, 1 to 256 characters. Unique, while the message exists or is kept as finished, among the topic's messages with the
   * same {@link key}; without a key of its own, in the topic. @defaultValue a UUIDv7
   */
  id?: string;
  /** Places the message in a partition, 1 to 256 characters. @defaultValue the id */
  key?: string;
  /** Time from now until the message is due, 0 to 10 years. @defaultValue due at once */
  delay?: Duration;
  /**
   * Due at this time (a number is epoch milliseconds), or when the clocks of a time zone show it; a time in the past is due at once.
   * Not together with `delay`. @defaultValue due at once
   */
  deliverAt?: Date | number | LocalTime;
  /** How many deliveries may fail before the message is a dead letter, 1 to 1000. @defaultValue the handler's */
  attempts?: number;
  /** Wait between the attempts. @defaultValue the handler's */
  backoff?: StoredBackoff;
  /** Longest run of one handler call. @defaultValue the handler's */
  timeout?: Duration;
  /** If its first delivery is not within this time after it was due, the message becomes a dead letter. @defaultValue the topic's */
  expireAfter?: Duration;
  /** Stored with the payload, for example for correlation ids. @defaultValue none */
  headers?: Record<string, string>;
  /**
   * Words by which the message can be listed and cancelled with others that carry them: at most 8, each of 1 to 128 characters. Stored with
   * the message. @defaultValue none
   */
  tags?: string[];
  /**
   * What happens if the id exists: `'reject'` throws `DuplicateMessageError`, `'ignore'` leaves the first one as it is,
   * `'replace'` gives it the new payload, options and due time (a debounce), `'earliest'` leaves the first one as it is,
   * but due at the earlier of both times; if that one is in flight or a dead letter, nothing moves. If the message has ended
   * and is kept by the topic's option `finished`, `'replace'` publishes a new one, and the others do the same as if it still
   * existed. @defaultValue 'reject'
   */
  onDuplicate?: 'reject' | 'ignore' | 'replace' | 'earliest';
  /**
   * Only with `onDuplicate: 'replace'`: however often the message is replaced, it is due at most this long after the first
   * publish that had this option, 0 to 10 years. It counts anew once the message was delivered. @defaultValue none
   */
  maxWait?: Duration;
  /**
   * The publish resolves once so many replicas of Redis have confirmed it, and rejects with `NotReplicatedError` if fewer do
   * in time. @defaultValue the module's
   */
  replicas?: ReplicaOptions;
}

/**
 * What became of a published message.
 *
 * @publicApi
 */
export interface PublishedMessage {
  id: string;
  topic: string;
  partition: number;
  /** When the message that is stored now may be delivered, on the Redis server's clock. */
  dueAt: Date;
  /**
   * Whether the id existed. The message was left as it is (`'ignore'`, `'earliest'`) or replaced (`'replace'`). `false` if it took
   * the place of a finished one.
   */
  duplicate: boolean;
}
