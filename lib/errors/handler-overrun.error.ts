import { enumerate } from '../checks/describe.js';
import { DelayQueueError } from './delay-queue.error.js';
import { defineKind } from './kinds.js';

/**
 * A handler has run for longer than three leases and has no `timeout`: it may hang. It goes on, and its lease is renewed.
 *
 * @publicApi
 */
export class HandlerOverrunError extends DelayQueueError {
  static {
    defineKind(this, 'HANDLER_OVERRUN');
  }

  readonly code = 'HANDLER_OVERRUN';

  constructor(
    /** Such as `OrderService.onTimeout`. */
    readonly handler: string,
    readonly topic: string,
    /** The messages it was called with. */
    readonly ids: readonly string[],
    /** For how long it has run so far, in milliseconds. */
    readonly duration: number,
    /** @param lease milliseconds */
    lease: number,
  ) {
    const which = enumerate(ids.map((id) => `'${id}'`));
    super(
      `${handler} has run for ${Math.round(duration / 1000)} s with ${ids.length === 1 ? 'message' : 'messages'} ${which} ` +
        `of topic '${topic}', longer than three leases of ${lease / 1000} s. While it runs its lease is renewed and its ` +
        `slot is taken. If it may hang, set a 'timeout' for the handler or the topic; if it is meant to take this long, ` +
        `set a 'timeout' or a 'lease' that says so.`,
    );
  }
}
