import type { AbandonedRuns } from '../fleet/abandoned-run.interface.js';
import type { Duration } from '../time/duration.js';

/**
 * `down`: Redis cannot be reached, or this process makes no progress although it could. `degraded`: it works, but a node of the
 * Cluster cannot be reached, partitions have no owner or cannot be reached, its session is not renewed, nobody handles a topic
 * that this process publishes to, Redis is full so that outcomes wait, or signals do not come through, so that messages wait or are late;
 * or handlers go on although their time is up.
 *
 * @publicApi
 */
export type HealthStatus = 'up' | 'degraded' | 'down';

/**
 * What `DelayQueueHealth.check()` found.
 *
 * @publicApi
 */
export interface HealthReport {
  readonly status: HealthStatus;
  /** What is wrong, a sentence each; empty if all is well. */
  readonly problems: readonly string[];
  readonly connection: ConnectionHealth;
  /** This process's place in the fleet; `undefined` if it does not consume. */
  readonly session: SessionHealth | undefined;
  /** How far Redis's clock is ahead of this machine's, in milliseconds, as last measured. */
  readonly clockOffset: number;
  /** The topics that this process handles, and those that the module's options name. */
  readonly topics: readonly TopicHealth[];
  /**
   * Topics that this process publishes to and that no process handles. It looks 30 s after its first publish to a topic, so
   * that the processes that handle it have time to boot.
   */
  readonly unhandled: readonly string[];
  /** Handler calls of this process that go on although their time is up. */
  readonly abandoned: AbandonedRuns;
}

/**
 * Whether Redis answers.
 *
 * @publicApi
 */
export interface ConnectionHealth {
  readonly status: 'up' | 'down';
  /** Milliseconds until Redis answered; `undefined` if it did not. */
  readonly roundTrip: number | undefined;
  /** Whether signals of other processes come through; also `up` if this process listens to none. */
  readonly signals: 'up' | 'down';
  /** Why it is down. */
  readonly error: string | undefined;
}

/**
 * Whether this process is known to live by the other processes of the fleet.
 *
 * @publicApi
 */
export interface SessionHealth {
  /** `down`: no heartbeat was answered for 3 heartbeats. The process goes on with what it owns, and no partition moves to it. */
  readonly status: 'up' | 'down';
  /** When the latest heartbeat was answered. */
  readonly renewedAt: Date;
  /** Redis answers where sessions are kept, and all the same no heartbeat was answered, nor has failed, for 3 heartbeats. */
  readonly stalled: boolean;
}

/**
 * How a topic is handled, as far as this process can tell. Partitions are given by their numbers.
 *
 * @publicApi
 */
export interface TopicHealth {
  readonly topic: string;
  /** Partitions that this process owns. */
  readonly owned: readonly number[];
  /** Partitions that no process owns. One that moves from one process to another may be among them for a moment. */
  readonly unowned: readonly number[];
  /** Partitions for which Redis did not answer. */
  readonly unreachable: readonly number[];
  readonly paused: boolean;
  /** This process has a handler for the topic, and takes none of its work: its intake was stopped here, or not started yet. */
  readonly stopped: boolean;
  /**
   * Messages in partitions of this process that wait although they are due; `undefined` if there are none. What is blocked behind others of
   * its key, or by a limit of it, does not count: this process could not take it.
   */
  readonly overdue: OverdueMessages | undefined;
  /**
   * This process is connected, but makes no progress for 3 heartbeats: messages are overdue and it is free to take them, but
   * no claim was answered, nor has failed.
   */
  readonly stalled: boolean;
  /** As many handlers run as may, and partitions wait for one to end. Overdue messages do not mean `stalled` then. */
  readonly saturated: boolean;
  /**
   * Messages wait until a limit of the topic lets more begin, or until it is held no more (`RateLimitedError`, `hold()` of the admin). Overdue messages do not
   * mean `stalled` then.
   */
  readonly limited: boolean;
  /**
   * For 5 s and more, what the limits of the topic permit was over before this process could call a handler: its event loop is busy, or Redis
   * answers late. Nothing is lost, and nothing of the topic begins here.
   */
  readonly starved: boolean;
}

/**
 * Messages whose time has come.
 *
 * @publicApi
 */
export interface OverdueMessages {
  readonly messages: number;
  /** Due time of the one that has waited longest. */
  readonly oldestDueAt: Date;
  /** How long it has been due, in milliseconds. */
  readonly lateness: number;
}

/**
 * Options of `DelayQueueHealth.check()`.
 *
 * @publicApi
 */
export interface HealthCheckOptions {
  /** Longest time until the report is there, up to 60 s. What is not known by then counts as down. @defaultValue '2s' */
  timeout?: Duration;
}
