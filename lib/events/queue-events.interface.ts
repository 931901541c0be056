import type { Failure } from '../messages/failure.js';
import type { ConfirmedPublish } from '../messages/publish-options.interface.js';

/**
 * Delivery that an event is about.
 *
 * @publicApi
 */
export interface DeliveryEvent {
  readonly topic: string;
  readonly partition: number;
  readonly id: string;
  readonly key: string;
  /** Number of the attempt, 1 for the first. */
  readonly attempt: number;
}

/**
 * A delivery that has ended.
 *
 * @publicApi
 */
export interface EndedDelivery extends DeliveryEvent {
  /** Run time of the handler, in milliseconds; 0 if it was not called. */
  readonly duration: number;
}

/**
 * Occurrences of a schedule that are not published.
 *
 * @publicApi
 */
export interface MissedEvent {
  /** Id of the schedule. */
  readonly schedule: string;
  readonly topic: string;
  readonly partition: number;
  /**
   * `'outage'`: no process published at that time, and `catchUp` leaves them out. `'overlap'`: an earlier one was not over, and `overlap`
   * is `'skip'`.
   */
  readonly reason: 'outage' | 'overlap';
  /** Number of occurrences; for a cron expression 1000 means 1000 or more. */
  readonly occurrences: number;
  readonly first: Date;
  readonly last: Date;
}

/**
 * Events that this process reports, by kind. A delivery whose handler was called ends with one event of `acked`, `retried`, `dead`,
 * `cancelled`, `replaced`, `released` or `stale`, once Redis has confirmed it. An at-most-once delivery, which is no longer in Redis, ends
 * with `acked` or `errors`.
 *
 * @publicApi
 */
export interface QueueEvents {
  /** This process published a message, also as the occurrence of a schedule. */
  published: ConfirmedPublish;
  /** A message is handed to its handler; `lateness` is the time since it was due, in milliseconds. */
  delivered: DeliveryEvent & { readonly lateness: number };
  /** A delivery was acknowledged; in a topic that is delivered at most once: its handler has ended without an error. */
  acked: EndedDelivery;
  /** An attempt failed, or was put off; the message is delivered again after `delay` milliseconds. */
  retried: EndedDelivery & { readonly delay: number; readonly error: unknown };
  /**
   * A message became a dead letter. `blocksKey`: others of its key wait until it is requeued or removed, since the topic is ordered
   * with `onDead: 'block'`.
   */
  dead: EndedDelivery & { readonly failure: Failure; readonly blocksKey: boolean };
  /** A delivery ended without success after its message was cancelled: the message is gone. */
  cancelled: EndedDelivery;
  /** A delivery ended without success after its message was replaced: the new one waits until it is due. */
  replaced: EndedDelivery;
  /** A delivery was released, for example at a shutdown: the message is delivered again at once, and no attempt is spent. */
  released: EndedDelivery;
  /** A settle came too late: the delivery no longer belonged to this process, and nothing has changed. */
  stale: DeliveryEvent;
  /**
   * Occurrences of a schedule are not published: there was an `'outage'`, or an `'overlap'`.
   *
   * @see docs/guides/schedules.md
   */
  missed: MissedEvent;
  /** A partition came to this process, or left it. */
  ownership: { readonly topic: string; readonly partition: number; readonly owned: boolean };
  /**
   * Messages of a topic have begun to wait for its limits in this process (`limited`), or none do any more.
   *
   * @see docs/guides/limits.md
   */
  limited: { readonly topic: string; readonly limited: boolean };
  /** A handler of this process hit a rate limit: nothing of the topic begins anywhere for `delay` milliseconds. */
  held: { readonly topic: string; readonly delay: number };
  /** Something failed in the background, where no caller waits. */
  errors: BackgroundError;
}

/**
 * Part that failed in the background:
 *
 * - `connection`: a connection to Redis was lost, or could not be made; or a key that another program had overwritten was set
 *   aside
 * - `membership`: a heartbeat, taking and giving up partitions, or checking whether any process handles a topic
 * - `claim`, `settle`, `extend`, `trim`: claiming messages, settling outcomes, renewing leases, removing dead letters and finished
 *   messages
 * - `limit`: requesting permits of a limited topic, or holding a topic
 * - `stale`: a settle came too late and changed nothing
 * - `handler`: a message of a topic that is delivered at most once is lost, since its handler failed, or could not be called
 * - `hook`: a hook of the application threw
 * - `fleet`: sending or reading fleet-wide events
 * - `unhandled`: this process publishes to a topic that no process handles (`UnhandledTopicError`)
 * - `schedule`: publishing the occurrences of schedules, or storing those that handlers declare
 * - `overrun`: a handler has run for longer than three leases, and goes on (`HandlerOverrunError`)
 * - `shutdown`: nothing in this process listens to SIGTERM (`NoShutdownHooksError`)
 * - `audit`: an operator's action could not be recorded (`AuditFailedError`)
 * - `outbox`: bringing what transactions have published from your database to Redis
 *
 * @publicApi
 */
export type BackgroundErrorSource =
  | 'connection'
  | 'membership'
  | 'claim'
  | 'settle'
  | 'extend'
  | 'trim'
  | 'limit'
  | 'stale'
  | 'handler'
  | 'hook'
  | 'fleet'
  | 'unhandled'
  | 'schedule'
  | 'overrun'
  | 'audit'
  | 'outbox'
  | 'shutdown';

/**
 * An error that no caller learns of. The failed work is tried again if that makes sense, so one outage brings many of them.
 *
 * @publicApi
 */
export interface BackgroundError {
  readonly source: BackgroundErrorSource;
  /** Topic that it is about, if any. */
  readonly topic?: string;
  /** Partition that it is about, if any. */
  readonly partition?: number;
  /** Id of the message that it is about, if any. */
  readonly id?: string;
  /** The error: an `Error`, or any value that a hook has thrown. */
  readonly error: unknown;
}

/** Receives the events of the runtime. */
export interface EventSink {
  /** Whether anybody listens to this kind of event; if not, it need not be created. */
  wants(kind: keyof QueueEvents): boolean;
  emit<K extends keyof QueueEvents>(kind: K, event: QueueEvents[K]): void;
}
