import { DelayQueueError } from './delay-queue.error.js';
import { defineKind } from './kinds.js';

/**
 * A message with this id exists already; neither its payload nor its due time has moved.
 *
 * @publicApi
 */
export class DuplicateMessageError extends DelayQueueError {
  static {
    defineKind(this, 'DUPLICATE_MESSAGE');
  }

  readonly code = 'DUPLICATE_MESSAGE';

  constructor(
    readonly topic: string,
    readonly id: string,
  ) {
    super(
      `Topic '${topic}' already holds a message with id '${id}', which was left untouched. ` +
        `Publish with onDuplicate: 'ignore' to accept that, or 'replace' to give it the new payload and due time.`,
    );
  }
}
