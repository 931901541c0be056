import { type Duration, describeDuration, parseDuration } from '../time/duration.js';
import { MAX_DELAY } from '../checks/limits.js';
import { DelayQueueError } from './delay-queue.error.js';
import { defineKind } from './kinds.js';

/**
 * Thrown by a handler: not now. The message is put off by `delay` and no attempt is spent, however often this happens.
 *
 * @example
 * ```ts
 * if (response.status === 429) throw new RetryLaterError('30s');
 * ```
 *
 * @publicApi
 */
export class RetryLaterError extends DelayQueueError {
  static {
    defineKind(this, 'RETRY_LATER');
  }

  readonly code = 'RETRY_LATER';

  /** How long the message is put off, in milliseconds. */
  readonly delay: number;

  /** @throws InvalidArgumentError where `delay` is no duration between 0 and 10 years */
  constructor(delay: Duration, message?: string) {
    const milliseconds = parseDuration('delay', delay, { max: MAX_DELAY });
    super(message ?? `The handler asked for the message again in ${describeDuration(milliseconds)}.`);
    this.delay = milliseconds;
  }
}
