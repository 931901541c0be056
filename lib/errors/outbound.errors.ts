import { DelayQueueError, defineKind } from './delay-queue.error.js';

/**
 * A message could not be pushed to its URL: the attempt has failed, and the message comes again by its backoff, or is a dead letter. A
 * backoff function is given it.
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
 * A client has failed to emit the event of a message: the attempt has failed, and the message comes again by its backoff, or is a dead
 * letter. What the client has thrown is the `cause`. A backoff function is given it.
 *
 * @publicApi
 */
export class ForwardFailedError extends DelayQueueError {
  static {
    defineKind(this, 'FORWARD_FAILED');
  }

  readonly code = 'FORWARD_FAILED';
}
