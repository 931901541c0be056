import type { FailedAttempt } from '../messages/failed-attempt.js';
import type { Failure } from '../messages/failure.js';

/**
 * What a topic, or one of its partitions, holds.
 *
 * @publicApi
 */
export interface TopicCounts {
  /** Messages that wait; those that are due are among them. */
  readonly scheduled: number;
  /** Messages whose time has come and that no process has claimed yet. */
  readonly due: number;
  readonly inFlight: number;
  readonly dead: number;
  /** The earliest due time; `undefined` where nothing waits. */
  readonly nextDueAt: Date | undefined;
  /** The earliest due time among those that are due; `undefined` where none is. How late it is tells how far behind you are. */
  readonly oldestDueAt: Date | undefined;
  /** Whether nothing is handed out until `resume()`; of a topic, whether that is so in any of its partitions. */
  readonly paused: boolean;
  readonly counters: TopicCounters;
}

/**
 * What has happened since the topic was first used. They only grow, and are kept in Redis.
 *
 * @publicApi
 */
export interface TopicCounters {
  /** Messages that were published; one that was replaced counts again. */
  readonly published: number;
  /** Deliveries, each attempt on its own. */
  readonly delivered: number;
  readonly acked: number;
  /** Attempts that failed and were to be repeated. */
  readonly retried: number;
  /** Messages that became dead letters. */
  readonly dead: number;
  /** Messages that were cancelled or drained. */
  readonly cancelled: number;
  /** Of those that became dead letters, the ones that were not delivered within `expireAfter`. */
  readonly expired: number;
  /** Outcomes that came after the lease had ended, and changed nothing. */
  readonly stale: number;
  /** Entries without a message, and messages in no state, that were met: damages from outside. */
  readonly repaired: number;
}

/**
 * What a partition holds, and who consumes it.
 *
 * @publicApi
 */
export interface PartitionStatus extends TopicCounts {
  readonly partition: number;
  /** The member id of the process that owns it. */
  readonly owner: string | undefined;
}

/**
 * What a topic holds, in sum and by partition.
 *
 * @publicApi
 */
export interface TopicStats extends TopicCounts {
  readonly topic: string;
  readonly partitions: readonly PartitionStatus[];
}

/**
 * Which messages `peek()` lists. `'due'`: of the scheduled ones, those whose time has come.
 *
 * @publicApi
 */
export type PeekState = 'scheduled' | 'due' | 'in-flight' | 'dead';

/**
 * How `peek()` lists.
 *
 * @publicApi
 */
export interface PeekOptions {
  /** Most messages of the page, 1 to 200. @defaultValue 50 */
  limit?: number;
  /** Of the page before; without it, the list begins. */
  cursor?: string | undefined;
}

/**
 * A page of a list of messages.
 *
 * @publicApi
 */
export interface PeekPage {
  /** In order of {@link MessageDetails.at}; fewer than asked for where they are large, and at the end. */
  readonly messages: readonly MessageDetails[];
  /** For the next page; `undefined` where this was the last. */
  readonly cursor: string | undefined;
}

/**
 * A message as it is stored.
 *
 * @publicApi
 */
export interface MessageDetails {
  readonly id: string;
  readonly key: string;
  readonly topic: string;
  readonly partition: number;
  readonly state: 'scheduled' | 'in-flight' | 'dead';
  /** Scheduled: when it is due. In flight: when its lease ends. Dead: when it died. */
  readonly at: Date;
  /** `undefined` if what is stored cannot be decoded, or this process lacks its serializer; {@link raw} has it. */
  readonly payload: unknown;
  readonly headers: Readonly<Record<string, string>>;
  /** Deliveries so far. */
  readonly deliveries: number;
  /** Attempts spent so far. */
  readonly attempts: number;
  /** Why it is dead, or why its last attempt failed. */
  readonly failure: Failure | undefined;
  /** The latest attempts that failed, the last one first; at most 10. An attempt that crashed has no entry. */
  readonly history: readonly FailedAttempt[];
  /** The stored envelope. */
  readonly raw: string;
}
