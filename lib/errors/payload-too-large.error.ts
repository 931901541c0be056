import { DelayQueueError } from './delay-queue.error.js';
import { defineKind } from './kinds.js';

/**
 * The encoded payload, with its headers, is over the limit. Nothing was written.
 *
 * @publicApi
 */
export class PayloadTooLargeError extends DelayQueueError {
  static {
    defineKind(this, 'PAYLOAD_TOO_LARGE');
  }

  readonly code = 'PAYLOAD_TOO_LARGE';

  constructor(
    /** Encoded size, in bytes. */
    readonly size: number,
    /** Largest size allowed, in bytes. */
    readonly limit: number,
  ) {
    super(
      `The encoded payload has ${size} bytes, ${limit} are allowed. Store the large part elsewhere and publish a reference to it.`,
    );
  }
}
