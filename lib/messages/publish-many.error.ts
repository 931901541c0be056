import { DelayQueueError, defineKind } from '../errors/delay-queue.error.js';
import type { PublishedMessage } from './publish-options.interface.js';

/**
 * Some messages of a `publishMany()` were refused; the others were published. `results` has the result of each.
 *
 * @publicApi
 */
export class PublishManyError extends DelayQueueError {
  static {
    defineKind(this, 'PUBLISH_MANY');
  }

  readonly code = 'PUBLISH_MANY';

  constructor(
    readonly topic: string,
    /** One result for each message, in the order in which the messages were given. */
    readonly results: readonly PromiseSettledResult<PublishedMessage>[],
  ) {
    const reasons = results.filter((result) => result.status === 'rejected').map(({ reason }) => reason as Error);
    super(
      `${reasons.length} of ${results.length} messages were not published to topic '${topic}'; the first: ${reasons[0]?.message}`,
      { cause: reasons[0] },
    );
  }
}
