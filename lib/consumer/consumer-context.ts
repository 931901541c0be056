import type { Broker } from '../store/broker.interface.js';
import type { EventSink } from '../events/queue-events.interface.js';
import type { Log } from '../log.js';
import type { SettleLayer } from '../middleware/middleware-layers.js';
import type { Clock } from '../time/clock.js';

/** Dependencies that all parts of the consumer runtime share. */
export interface ConsumerContext {
  readonly broker: Broker;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventSink;
  /** Name of this process and of its session. */
  readonly session: string;
  /** Layers around each settle; the first is the outermost. */
  readonly settleLayers?: readonly SettleLayer[] | undefined;
}

/** Settings for the consumers of a process, with defaults filled in. Times in milliseconds. */
export interface ConsumerSettings {
  /** Most handler calls that run at once. */
  readonly concurrency: number;
  /** Lease of a delivery, unless its handler sets another. */
  readonly lease: number;
  /** Whether the intake starts by itself. */
  readonly autoStart: boolean;
  readonly shutdownTimeout: number;
  /** Longest interval between heartbeats, which show the others that this process is alive. */
  readonly heartbeat: number;
}
