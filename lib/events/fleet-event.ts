import type { FailureReason } from '../messages/failure.js';
import type { EndedDelivery, QueueEvents } from './queue-events.interface.js';

/**
 * An error of another process.
 *
 * @publicApi
 */
export interface FleetError {
  readonly name: string;
  /** At most 200 characters. */
  readonly message: string;
  readonly code?: string;
}

/**
 * What the processes of a fleet report, by kind of event: as {@link QueueEvents}, with short errors.
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
 * The process that an event comes from.
 *
 * @publicApi
 */
export interface FleetOrigin {
  /** The process that reported it, as `host:pid:uuid`; for consumers the name under which they own partitions. */
  readonly process: string;
  /** When it was reported, on the Redis server's clock. */
  readonly at: Date;
}

/**
 * Events that cannot be read any more: they were removed from the stream before they were read, or dropped by the process
 * that is named.
 *
 * @publicApi
 */
export interface FleetGap {
  readonly kind: 'gap';
  /** How many. */
  readonly missed: number;
  /** The process that dropped them; `undefined` if events were removed, of whatever processes. */
  readonly process: string | undefined;
}

/**
 * An event of a process of the fleet, this one included.
 *
 * @publicApi
 */
export type FleetEvent =
  | { [K in keyof FleetEvents]: FleetOrigin & { readonly kind: K } & FleetEvents[K] }[keyof FleetEvents]
  | FleetGap;
