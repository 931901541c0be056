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
  /** Whether it is this call alone that Redis refuses, for what it carries or for what is stored there; others may pass. */
  readonly refused: boolean;

  constructor(
    message: string,
    { transient = true, refused = false, ...options }: ErrorOptions & { transient?: boolean; refused?: boolean } = {},
  ) {
    super(message, options);
    this.transient = transient;
    this.refused = refused;
  }
}
