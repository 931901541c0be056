import type { Duration } from '../time/duration.js';
import type { FailureReason } from '../messages/failure.js';

/**
 * Which dead letters are meant: those that fit all that is given. An empty filter means every dead letter of the topic.
 *
 * @publicApi
 */
export interface DeadLetterFilter {
  /** Why they died. */
  readonly reason?: FailureReason;
  /** They died at this time or later, on the Redis server's clock; a number is epoch milliseconds. */
  readonly since?: Date | number;
  /** They died before this time. What dies while the call goes on is never meant. */
  readonly until?: Date | number;
  /** Their key; the id where they were published without one. */
  readonly key?: string;
  /** The group that they are in, see `DelayQueueAdmin.deadLetterGroups()`. */
  readonly fingerprint?: string;
}

/**
 * How dead letters are removed.
 *
 * @publicApi
 */
export interface RemoveOptions {
  /** Only counts, and changes nothing. @defaultValue false */
  readonly dryRun?: boolean;
  /** Most messages a second, above 0; less than one is possible. @defaultValue as fast as it goes */
  readonly rate?: number;
  /** Ends the call after the step under way. */
  readonly signal?: AbortSignal;
}

/**
 * How dead letters are requeued.
 *
 * @publicApi
 */
export interface RequeueOptions extends RemoveOptions {
  /** They are due so long from then on, 0 to 10 years. @defaultValue 0 */
  readonly delay?: Duration;
  /** Takes the place of the payload, where a single message is named. Headers and options stay as they are. */
  readonly payload?: unknown;
}

/**
 * What became of a call for dead letters.
 *
 * @publicApi
 */
export interface DeadLetterCounts {
  /** Dead letters that were meant. */
  readonly matched: number;
  /** Whether the signal ended the call before all were looked at. */
  readonly aborted: boolean;
}

/**
 * What became of a call to requeue dead letters.
 *
 * @publicApi
 */
export interface RequeueResult extends DeadLetterCounts {
  /** Those that wait again; fewer than matched where others were quicker, and 0 in a dry run. */
  readonly requeued: number;
}

/**
 * What became of a call to remove dead letters.
 *
 * @publicApi
 */
export interface RemoveResult extends DeadLetterCounts {
  /** Those that are gone; fewer than matched where others were quicker, and 0 in a dry run. */
  readonly removed: number;
}
