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
  /** How long the handler ran, in milliseconds; 0 where it was not called. */
  readonly duration: number;
}

/**
 * What this process tells of its work, by kind of event. A delivery that was handed over ends with one event of `acked`,
 * `retried`, `dead`, `cancelled`, `replaced`, `released` or `stale`, once Redis has confirmed it.
 *
 * @publicApi
 */
export interface QueueEvents {
  /** A message was published by this process. */
  published: PublishedMessage;
  /** A message is handed to its handler; `lateness` is the time since it was due, in milliseconds. */
  delivered: DeliveryEvent & { readonly lateness: number };
  /** A delivery was acknowledged. */
  acked: EndedDelivery;
  /** An attempt failed, or was put off; the message comes again after `delay` milliseconds. */
  retried: EndedDelivery & { readonly delay: number; readonly error: unknown };
  /** A message became a dead letter. */
  dead: EndedDelivery & { readonly failure: Failure };
  /** A delivery ended without success, and its message had been cancelled meanwhile: it is gone. */
  cancelled: EndedDelivery;
  /** A delivery ended without success, and its message had been replaced meanwhile: the new one waits for its time. */
  replaced: EndedDelivery;
  /** A delivery was given back, as at a shutdown: the message comes again at once, and no attempt is spent. */
  released: EndedDelivery;
  /** A settle came too late: the delivery no longer belonged to this process, and nothing was changed. */
  stale: DeliveryEvent;
  /** A partition came to this process, or left it. */
  ownership: { readonly topic: string; readonly partition: number; readonly owned: boolean };
  /** Something failed in the background, where nobody waits for it. */
  errors: BackgroundError;
}

/**
 * What failed in the background:
 *
 * - `connection`: a connection to Redis was lost, or could not be made; or a key that another program had written over was
 *   set aside
 * - `membership`: a heartbeat, taking and giving up partitions, or looking whether anybody handles a topic
 * - `claim`, `settle`, `extend`, `trim`: claiming messages, settling outcomes, renewing leases, removing dead letters
 * - `stale`: a settle came too late and changed nothing
 * - `hook`: a hook of the application threw
 * - `fleet`: sending or reading fleet-wide events
 * - `unhandled`: this process publishes to a topic that no process handles (`UnhandledTopicError`)
 * - `overrun`: a handler has run for longer than three leases, and goes on (`HandlerOverrunError`)
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
  | 'stale'
  | 'hook'
  | 'fleet'
  | 'unhandled'
  | 'overrun';

/**
 * An error that no call was answered with. What it is about is tried again where that makes sense, so the same outage
 * brings many of them.
 *
 * @publicApi
 */
export interface BackgroundError {
  readonly source: BackgroundErrorSource;
  /** The topic it is about, where it is about one. */
  readonly topic?: string;
  /** The partition it is about, where it is about one. */
  readonly partition?: number;
  /** What went wrong; an `Error` but for what a hook throws. */
  readonly error: unknown;
}

/** Where the runtime tells its events. */
export interface EventSink {
  /** Whether anybody listens to this kind of event; else it need not be put together. */
  wants(kind: keyof QueueEvents): boolean;
  emit<K extends keyof QueueEvents>(kind: K, event: QueueEvents[K]): void;
}
