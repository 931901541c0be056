import type { FailureReason } from '../messages/failure.js';
import type { EndedDelivery, QueueEvents } from './queue-events.interface.js';

/**
 * An error of another process.
 *
 * @publicApi
 */
export interface FleetError {
  readonly name: string;
  /** Message of at most 200 characters. */
  readonly message: string;
  readonly code?: string;
}

/**
 * Events that the processes of a fleet report, by kind: as {@link QueueEvents}, with short errors.
 *
 * @publicApi
 */
export interface FleetEvents extends Omit<QueueEvents, 'retried' | 'dead' | 'errors' | 'limited' | 'held'> {
  retried: EndedDelivery & { readonly delay: number; readonly error: FleetError };
  dead: EndedDelivery & {
    readonly failure: FleetError & { readonly reason: FailureReason };
    readonly blocksKey: boolean;
  };
}

/**
 * Origin of an event.
 *
 * @publicApi
 */
export interface FleetOrigin {
  /** Process that reported it, as `host:pid:uuid`; for consumers the name under which they own partitions. */
  readonly process: string;
  /** Time when it was reported, on the Redis server's clock. */
  readonly at: Date;
}

/**
 * Events that can no longer be read: they were removed from the stream before they were read, or dropped by the named process.
 *
 * @publicApi
 */
export interface FleetGap {
  readonly kind: 'gap';
  /** Number of missed events. */
  readonly missed: number;
  /** Process that dropped them; `undefined` if events of any processes were removed. */
  readonly process: string | undefined;
}

/**
 * An event of any process of the fleet, including this one.
 *
 * @publicApi
 */
export type FleetEvent =
  | { [K in keyof FleetEvents]: FleetOrigin & { readonly kind: K } & FleetEvents[K] }[keyof FleetEvents]
  | FleetGap;
