import { DelayQueueError, defineKind } from './delay-queue.error.js';

/**
 * A message could not be pushed to its URL: the attempt has failed, and the message comes again by its backoff, or is a dead letter. Only
 * in failures, in events, and given to backoff functions.
 *
 * @see docs/guides/push.md
 *
 * @publicApi
 */
export class PushFailedError extends DelayQueueError {
  static {
    defineKind(this, 'PUSH_FAILED');
  }

  readonly code = 'PUSH_FAILED';

  constructor(
    message: string,
    /** What the server has answered; `undefined` if it has not, such as if the connection failed. */
    readonly status?: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * A client could not emit a message: the attempt has failed, and the message comes again by its backoff, or is a dead letter. `cause` is
 * what the client has thrown. Only in failures, in events, and given to backoff functions.
 *
 * @see docs/guides/forward.md
 *
 * @publicApi
 */
export class ForwardFailedError extends DelayQueueError {
  static {
    defineKind(this, 'FORWARD_FAILED');
  }

  readonly code = 'FORWARD_FAILED';
}
