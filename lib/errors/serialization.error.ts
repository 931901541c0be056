import { DelayQueueError } from './delay-queue.error.js';

/**
 * A payload that JSON cannot hold, or a stored message that cannot be read back.
 *
 * @publicApi
 */
export class SerializationError extends DelayQueueError {
  readonly code = 'SERIALIZATION';
}
