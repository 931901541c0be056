import { describe } from '../checks/describe.js';
import { DelayQueueError } from './delay-queue.error.js';
import { defineKind } from './kinds.js';

/**
 * The schema of a topic failed by itself, so whether it accepts the payload is not known; `cause` is what it threw. Nothing
 * was sent.
 *
 * @publicApi
 */
export class SchemaError extends DelayQueueError {
  static {
    defineKind(this, 'SCHEMA');
  }

  readonly code = 'SCHEMA';

  constructor(
    readonly topic: string,
    cause: unknown,
  ) {
    const reason = cause instanceof Error ? cause.message : describe(cause);
    super(
      `The schema of topic '${topic}' threw instead of judging the payload: ${reason}. Let it return issues for what it ` +
        `does not accept.`,
      { cause },
    );
  }
}
