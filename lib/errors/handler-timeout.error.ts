import { describeDuration } from '../time/duration.js';
import { DelayQueueError } from './delay-queue.error.js';
import { defineKind } from './kinds.js';

/**
 * A handler ran longer than its `timeout`. The reason of the aborted signal, and the error of the failed attempt.
 *
 * @publicApi
 */
export class HandlerTimeoutError extends DelayQueueError {
  static {
    defineKind(this, 'HANDLER_TIMEOUT');
  }

  readonly code = 'HANDLER_TIMEOUT';

  constructor(
    /** The timeout that was exceeded, in milliseconds. */
    readonly timeout: number,
  ) {
    super(`The handler did not finish within its timeout of ${describeDuration(timeout)}.`);
  }
}
