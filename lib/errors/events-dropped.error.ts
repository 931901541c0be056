import { DelayQueueError } from './delay-queue.error.js';
import { defineKind } from './kinds.js';

/**
 * Events of this process did not reach the fleet: Redis could not be reached, or did not take them. The work that they
 * tell of is not affected.
 *
 * @publicApi
 */
export class EventsDroppedError extends DelayQueueError {
  static {
    defineKind(this, 'EVENTS_DROPPED');
  }

  readonly code = 'EVENTS_DROPPED';

  /** @param dropped how many */
  constructor(readonly dropped: number) {
    super(`${dropped} events of this process did not reach the fleet. Those who read them see a gap.`);
  }
}
