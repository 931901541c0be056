import type { AbandonedRuns } from '../fleet/abandoned-run.interface.js';
import type { Duration } from '../time/duration.js';

/**
 * `down`: Redis cannot be reached, or this process makes no progress although it could. `degraded`: it works, but a node of the Cluster
 * cannot be reached, partitions have no owner or cannot be reached, its session is not renewed, no process handles a topic that this
 * process publishes to, Redis is full so that outcomes wait, or signals do not arrive, so that messages wait or are late; or handlers still
 * run although their time is up.
 *
 * @publicApi
 */
export type HealthStatus =
  /** None of the following. */
  | 'up'
  /**
   * This process works, but messages wait or are late, here or elsewhere: a node of the Cluster can't be reached, partitions have no owner
   * or their Redis doesn't answer, no process handles a topic that this process publishes to, Redis is full so that outcomes wait, signals
   * don't arrive, or the session of this process is not renewed; or handlers keep running after their time is up.
   */
  | 'degraded'
  /** Redis can't be reached, or this process makes no progress. */
  | 'down';

/**
 * Result of `DelayQueueHealth.check()`.
 *
 * @publicApi
 */
export interface HealthReport {
  readonly status: HealthStatus;
  /** Problems, a sentence each; empty if all is well. */
  readonly problems: readonly string[];
  readonly connection: ConnectionHealth;
  /** This process's place in the fleet; `undefined` if it does not consume. */
  readonly session: SessionHealth | undefined;
  /** Time by which Redis's clock is ahead of this machine's, in milliseconds, as last measured. */
  readonly clockOffset: number;
  /** Topics that this process handles, and those that the module's options name. */
  readonly topics: readonly TopicHealth[];
  /**
   * Topics that this process publishes to and that no process handles. It checks 30 s after its first publish to a topic, so that the
   * processes that handle it have time to boot.
   */
  readonly unhandled: readonly string[];
  /** Handler calls of this process that still run although their time is up. */
  readonly abandoned: AbandonedRuns;
}

/**
 * Whether Redis answers.
 *
 * @publicApi
 */
export interface ConnectionHealth {
  readonly status: 'up' | 'down';
  /** Time until Redis answered, in milliseconds; `undefined` if it did not. */
  readonly roundTrip: number | undefined;
  /** Whether signals of other processes arrive; also `up` if this process listens to none. */
  readonly signals: 'up' | 'down';
  /** Reason why it is down. */
  readonly error: string | undefined;
}

/**
 * Whether the other processes of the fleet see this process as alive.
 *
 * @publicApi
 */
export interface SessionHealth {
  /**
   * `down`: no heartbeat was answered for 3 heartbeats. The process keeps working on its partitions, and no other partition moves to it.
   */
  readonly status: 'up' | 'down';
  /** Time when the latest heartbeat was answered. */
  readonly renewedAt: Date;
  /** Whether no heartbeat was answered, nor has failed, for 3 heartbeats, although the part of Redis that keeps sessions answers. */
  readonly stalled: boolean;
}

/**
 * Handling of a topic, as far as this process can tell. Partitions are given by their numbers.
 *
 * @publicApi
 */
export interface TopicHealth {
  /** Name of the topic. */
  readonly topic: string;
  /** Partitions that this process owns. */
  readonly owned: readonly number[];
  /** Partitions that no process owns. One that is changing owners can be among them for a moment. */
  readonly unowned: readonly number[];
  /** Partitions for which Redis did not answer. */
  readonly unreachable: readonly number[];
  /** Whether the topic is paused. */
  readonly paused: boolean;
  /**
   * Whether this process has a handler for the topic but takes no messages: its intake was stopped here, or not started yet.
   *
   * @see docs/guides/intake.md
   */
  readonly stopped: boolean;
  /**
   * Due messages that wait in partitions of this process: the number of `messages`, `oldestDueAt`, and their `lateness` in milliseconds;
   * `undefined` if there are none. Messages blocked behind others of their key, or by a limit of it, do not count: this process could not
   * take them.
   */
  readonly overdue: OverdueMessages | undefined;
  /**
   * Whether this process is connected but makes no progress for 3 heartbeats: messages are overdue and it is free to take them, but no
   * claim was answered, nor has failed.
   *
   * @see docs/guides/health.md#stalled-processes
   */
  readonly stalled: boolean;
  /** Whether all slots are taken and partitions wait for one. Overdue messages are then a matter of capacity, and do not mean `stalled`. */
  readonly saturated: boolean;
  /**
   * Whether messages wait for a limit of the topic, or the topic is held, because a handler hit a rate limit or by `hold()`. Overdue
   * messages do not mean `stalled` then.
   *
   * @see docs/guides/limits.md
   */
  readonly limited: boolean;
  /**
   * Whether permits of its limits expire before this process can call the handler, for 5 s or longer: its event loop is busy, or Redis
   * answers late. Nothing is lost, and nothing of the topic begins here.
   *
   * @see docs/guides/limits.md#starved-topics
   */
  readonly starved: boolean;
}

/**
 * Messages that are overdue.
 *
 * @publicApi
 */
export interface OverdueMessages {
  readonly messages: number;
  /** Due time of the message that has waited longest. */
  readonly oldestDueAt: Date;
  /** Time for which it has been due, in milliseconds. */
  readonly lateness: number;
}

/**
 * Options of `DelayQueueHealth.check()`.
 *
 * @publicApi
 */
export interface HealthCheckOptions {
  /** Time to wait for the report, up to 60 s. Anything unknown by then counts as down. @defaultValue '2s' */
  timeout?: Duration;
}
