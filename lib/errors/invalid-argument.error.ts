import { DelayQueueError } from './delay-queue.error.js';

/**
 * An argument is outside its bounds. Thrown before anything reaches Redis.
 *
 * @publicApi
 */
export class InvalidArgumentError extends DelayQueueError {
  readonly code = 'INVALID_ARGUMENT';
}
