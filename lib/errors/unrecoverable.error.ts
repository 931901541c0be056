import { DelayQueueError } from './delay-queue.error.js';

/**
 * Thrown by a handler: retrying cannot help, the message becomes a dead letter at once.
 *
 * @publicApi
 */
export class UnrecoverableError extends DelayQueueError {
  readonly code = 'UNRECOVERABLE';
}
