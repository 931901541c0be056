import type { Failure } from '../messages/failure.js';
import type { PublishedMessage } from '../messages/publish-options.interface.js';

/**
 * Which delivery an event is about.
 *
 * @publicApi
 */
export interface DeliveryEvent {
  readonly topic: string;
  readonly partition: number;
  readonly id: string;
  readonly key: string;
  /** Which attempt this was, 1 for the first. */
  readonly attempt: number;
}

/**
 * A delivery that has ended.
 *
 * @publicApi
 */
export interface EndedDelivery extends DeliveryEvent {
  /** How long the handler ran, in milliseconds; 0 if it was not called. */
  readonly duration: number;
}

/**
 * Occurrences of a schedule that are not published.
 *
 * @publicApi
 */
export interface MissedEvent {
  /** The id of the schedule. */
  readonly schedule: string;
  readonly topic: string;
  readonly partition: number;
  /**
   * `'outage'`: nobody was there to publish at that time, and `catchUp` does not ask for them. `'overlap'`: an earlier one was not
   * over, and `overlap` is `'skip'`.
   */
  readonly reason: 'outage' | 'overlap';
  /** How many; of a cron expression 1000 means so many or more. */
  readonly occurrences: number;
  readonly first: Date;
  readonly last: Date;
}

/**
 * What this process reports, by kind of event. A delivery whose handler was called ends with one event of `acked`,
 * `retried`, `dead`, `cancelled`, `replaced`, `released` or `stale`, once Redis has confirmed it. One at most once, which Redis has nothing to
 * do with any more, ends with `acked` or `errors`.
 *
 * @publicApi
 */
export interface QueueEvents {
  /** A message was published by this process, also as the occurrence of a schedule. */
  published: PublishedMessage;
  /** A message is handed to its handler; `lateness` is the time since it was due, in milliseconds. */
  delivered: DeliveryEvent & { readonly lateness: number };
  /** A delivery was acknowledged; of a topic that is delivered at most once: its handler has ended without an error. */
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
  /** A handler of this process has met a rate limit: nothing of the topic begins anywhere for `delay` milliseconds. */
  held: { readonly topic: string; readonly delay: number };
  /** Something failed in the background, where no caller waits. */
  errors: BackgroundError;
}

/**
 * What failed in the background:
 *
 * - `connection`: a connection to Redis was lost, or could not be made; or a key that another program had overwritten was set
 *   aside
 * - `membership`: a heartbeat, taking and giving up partitions, or looking whether anybody handles a topic
 * - `claim`, `settle`, `extend`, `trim`: claiming messages, settling outcomes, renewing leases, removing dead letters and finished
 *   messages
 * - `limit`: asking for permits of a limited topic, or holding a topic
 * - `stale`: a settle came too late and changed nothing
 * - `handler`: a message of a topic that is delivered at most once is lost, since its handler failed, or could not be called
 * - `hook`: a hook of the application threw
 * - `fleet`: sending or reading fleet-wide events
 * - `unhandled`: this process publishes to a topic that no process handles (`UnhandledTopicError`)
 * - `schedule`: publishing the occurrences of schedules, or storing those that handlers declare
 * - `overrun`: a handler has run for longer than three leases, and goes on (`HandlerOverrunError`)
 * - `shutdown`: nothing in this process listens to SIGTERM (`NoShutdownHooksError`)
 * - `audit`: an action of an operator could not be written down (`AuditFailedError`)
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
  | 'shutdown';

/**
 * An error that no caller is told of. What has failed is tried again if that makes sense, so one outage brings many of them.
 *
 * @publicApi
 */
export interface BackgroundError {
  readonly source: BackgroundErrorSource;
  /** The topic it is about, if it is about one. */
  readonly topic?: string;
  /** The partition it is about, if it is about one. */
  readonly partition?: number;
  /** The message it is about, if it is about one. */
  readonly id?: string;
  /** What went wrong: an `Error`, or whatever a hook has thrown. */
  readonly error: unknown;
}

/** Takes the events of the runtime. */
export interface EventSink {
  /** Whether anybody listens to this kind of event; if not, it need not be made. */
  wants(kind: keyof QueueEvents): boolean;
  emit<K extends keyof QueueEvents>(kind: K, event: QueueEvents[K]): void;
}
