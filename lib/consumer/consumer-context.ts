import type { Broker } from '../broker/broker.interface.js';
import type { Clock } from '../time/clock.js';
import type { Log } from '../log.js';
import type { EventSink } from '../events/queue-events.interface.js';
import type { SettleLayer } from '../middleware/middleware-layers.js';

/** What every part of the consumer runtime is given. */
export interface ConsumerContext {
  readonly broker: Broker;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventSink;
  /** Names this process among the members of every topic. */
  readonly member: string;
  /** Around each settle; the first is the outermost. `undefined`: no middleware does. */
  readonly settleLayers?: readonly SettleLayer[] | undefined;
}
