import { NoShutdownHooksError } from '../errors/operation.errors.js';
import type { EventSink } from '../events/queue-events.interface.js';
import { sessionLength } from '../fleet/session.js';
import type { Log } from '../log.js';
import type { Clock, Timer } from '../time/clock.js';

/** Time after the boot by which this process has to listen to signals, in milliseconds. */
const GRACE = 5000;

/** Whether the warning was given: one listener serves the whole process, however many applications and connections it has. */
let hasWarned = false;

/** Delays if this process ends without a shutdown, in milliseconds. */
export interface CostOfKill {
  /** Longest lease of the handlers. */
  readonly lease: number;
  readonly heartbeat: number;
}

/** Warns if nothing in this process listens to SIGTERM, so that a deployment would end it without a shutdown. */
export class SignalWatch {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #events: EventSink;
  #timer: Timer | undefined;

  constructor(clock: Clock, log: Log, events: EventSink) {
    this.#clock = clock;
    this.#log = log;
    this.#events = events;
  }

  /**
   * Checks after a while: shutdown hooks can be enabled after the application was initialized, and an application that ends by itself has
   * ended by then.
   */
  start({ lease, heartbeat }: CostOfKill): void {
    this.#timer = this.#clock.setTimer(GRACE, () => {
      if (process.listenerCount('SIGTERM') > 0 || hasWarned) return;
      hasWarned = true;
      const error = new NoShutdownHooksError(lease, sessionLength(heartbeat));
      this.#log.warn(error.message);
      this.#events.emit('errors', { source: 'shutdown', error });
    });
  }

  stop(): void {
    this.#timer?.cancel();
  }
}
