import type { FailedAttempt } from '../message/failed-attempt.js';
import type { Failure } from '../message/failure.js';

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
  /** `undefined` where what is stored cannot be decoded; {@link raw} has it. */
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
