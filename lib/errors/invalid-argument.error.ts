import { DelayQueueError } from './delay-queue.error.js';
import { defineKind } from './kinds.js';

/**
 * An argument is outside its bounds. Thrown before anything reaches Redis.
 *
 * @publicApi
 */
export class InvalidArgumentError extends DelayQueueError {
  static {
    defineKind(this, 'INVALID_ARGUMENT');
  }

  readonly code = 'INVALID_ARGUMENT';
}
