import { DelayQueueError } from './delay-queue.error.js';
import { defineKind } from './kinds.js';

/**
 * The reason of a `message.signal` that was aborted from outside the handler.
 *
 * - `LEASE_LOST`: the delivery no longer belongs to this process; whatever the handler returns has no effect.
 * - `CANCELLED`: the message was cancelled; no retry follows.
 * - `SHUTDOWN`: the process stops and `shutdownTimeout` is over; the message went back for another process.
 *
 * @publicApi
 */
export class DeliveryAbortedError extends DelayQueueError {
  static {
    defineKind(this, 'DELIVERY_ABORTED');
  }

  constructor(readonly code: 'LEASE_LOST' | 'CANCELLED' | 'SHUTDOWN') {
    super(REASONS[code]);
  }
}

const REASONS = {
  LEASE_LOST: 'The lease of this delivery was lost; the message may be delivered to another process.',
  CANCELLED: 'The message was cancelled while its handler was running.',
  SHUTDOWN: 'The process is stopping and the handler ran past the shutdown timeout; the message was handed back.',
} as const;
