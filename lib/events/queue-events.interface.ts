import type { Failure } from '../message/failure.js';
import type { PublishedMessage } from '../message/publish-options.interface.js';

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
 * What this process tells of its work, by kind of event.
 *
 * @publicApi
 */
export interface QueueEvents {
  /** A message was published by this process. */
  published: PublishedMessage;
  /** A message is handed to its handler; `lateness` is the time since it was due, in milliseconds. */
  delivered: DeliveryEvent & { readonly lateness: number };
  /** A delivery was acknowledged; `duration` is the handler's running time, in milliseconds. */
  acked: DeliveryEvent & { readonly duration: number };
  /** An attempt failed, or was put off; the message comes again after `delay` milliseconds. */
  retried: DeliveryEvent & { readonly delay: number; readonly error: unknown };
  /** A message became a dead letter. */
  dead: DeliveryEvent & { readonly failure: Failure };
  /** A settle came too late: the delivery no longer belonged to this process, and nothing was changed. */
  stale: DeliveryEvent;
  /** A partition came to this process, or left it. */
  ownership: { readonly topic: string; readonly partition: number; readonly owned: boolean };
}

/** Where the runtime tells its events. */
export interface EventSink {
  /** Whether anybody listens to this kind of event; else it need not be put together. */
  wants(kind: keyof QueueEvents): boolean;
  emit<K extends keyof QueueEvents>(kind: K, event: QueueEvents[K]): void;
}
