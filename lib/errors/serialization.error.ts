import { DelayQueueError } from './delay-queue.error.js';
import { defineKind } from './kinds.js';

/**
 * A payload that JSON cannot hold, or a stored message that cannot be read back.
 *
 * @publicApi
 */
export class SerializationError extends DelayQueueError {
  static {
    defineKind(this, 'SERIALIZATION');
  }

  readonly code = 'SERIALIZATION';
}
