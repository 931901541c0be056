import type { Observable } from 'rxjs';
import { BrokerUnavailableError } from '../errors/broker-unavailable.error.js';
import { DelayQueueError } from '../errors/delay-queue.error.js';
import type { QueueEvents } from '../events/queue-events.interface.js';
import type { DelayQueueMetrics, PublishOutcome } from './delay-queue-metrics.interface.js';

/**
 * Counts what becomes of publishes, with nothing around them: those that succeed by their events, and those that fail, which
 * have none, as it is told of them.
 *
 * @returns to be told of messages that were not published, and why
 */
export function countPublishes(
  metrics: Pick<DelayQueueMetrics, 'countPublished'>,
  events: { readonly published: Observable<QueueEvents['published']> },
): (topic: string, error: unknown, messages: number) => void {
  events.published.subscribe(({ topic, duplicate }) =>
    metrics.countPublished(topic, duplicate ? 'duplicate' : 'created'),
  );
  return (topic, error, messages) => {
    const outcome = failureOf(error);
    for (let i = 0; i < messages; i++) metrics.countPublished(topic, outcome);
  };
}

/** All errors of the library say that nothing was stored, but for the one that does not know. */
function failureOf(error: unknown): PublishOutcome {
  return error instanceof DelayQueueError && !(error instanceof BrokerUnavailableError) ? 'refused' : 'failed';
}
