import { DelayQueueError } from './delay-queue.error.js';
import { defineKind } from './kinds.js';

/**
 * Thrown by a handler: retrying cannot help, the message becomes a dead letter at once.
 *
 * @publicApi
 */
export class UnrecoverableError extends DelayQueueError {
  static {
    defineKind(this, 'UNRECOVERABLE');
  }

  readonly code = 'UNRECOVERABLE';
}
