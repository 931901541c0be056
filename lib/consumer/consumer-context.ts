import type { Broker } from '../store/broker.interface.js';
import type { EventSink } from '../events/queue-events.interface.js';
import type { Log } from '../log.js';
import type { SettleLayer } from '../middleware/middleware-layers.js';
import type { Clock } from '../time/clock.js';

/** What every part of the consumer runtime is given. */
export interface ConsumerContext {
  readonly broker: Broker;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventSink;
  /** Names this process, and its session. */
  readonly session: string;
  /** Around each settle; the first is the outermost. */
  readonly settleLayers?: readonly SettleLayer[] | undefined;
}

/** What is set for the consumers of a process, defaults filled in. Times in milliseconds. */
export interface ConsumerSettings {
  /** Handler calls at once. */
  readonly concurrency: number;
  /** For how long a delivery belongs to this process, unless its handler says otherwise. */
  readonly lease: number;
  /** Whether work is taken without being asked to. */
  readonly autoStart: boolean;
  readonly shutdownTimeout: number;
  /** Longest time after which this process tells the others that it lives. */
  readonly heartbeat: number;
}
