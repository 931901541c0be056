import { DelayQueueError } from './delay-queue.error.js';
import { defineKind } from './kinds.js';

/**
 * Redis could not be reached, did not answer in time, or refused to serve; `cause` holds what it said.
 *
 * @publicApi
 */
export class BrokerUnavailableError extends DelayQueueError {
  static {
    defineKind(this, 'BROKER_UNAVAILABLE');
  }

  readonly code = 'BROKER_UNAVAILABLE';
  /** Whether the same call may succeed soon: a lost connection passes, a denied command does not. */
  readonly transient: boolean;

  constructor(message: string, { transient = true, ...options }: ErrorOptions & { transient?: boolean } = {}) {
    super(message, options);
    this.transient = transient;
  }
}
