import { BrokerUnavailableError } from '../errors/broker-unavailable.error.js';
import { DelayQueueError } from '../errors/delay-queue.error.js';
import { PublishManyError } from '../errors/publish-many.error.js';
import type { DelayQueueMiddleware } from '../message/middleware.interface.js';
import type { PublishedMessage } from '../message/publish-options.interface.js';
import type { DelayQueueMetrics, PublishOutcome } from './delay-queue-metrics.interface.js';

/** Counts what becomes of publishes. A middleware, since the event `published` does not tell of those that fail. */
export function publishCounter(metrics: Pick<DelayQueueMetrics, 'countPublished'>): DelayQueueMiddleware {
  return {
    publish: async (messages, next) => {
      try {
        const published = await next();
        for (const message of published) metrics.countPublished(message.topic, outcomeOf(message));
        return published;
      } catch (error) {
        const outcomes = failedOutcomes(error);
        for (const [i, { topic }] of messages.entries()) {
          metrics.countPublished(topic, outcomes?.[i] ?? failureOf(error));
        }
        throw error;
      }
    },
  };
}

function outcomeOf({ duplicate }: PublishedMessage): PublishOutcome {
  return duplicate ? 'duplicate' : 'created';
}

/** Of several messages, each has an outcome of its own once they were sent. */
function failedOutcomes(error: unknown): PublishOutcome[] | undefined {
  if (!(error instanceof PublishManyError)) return undefined;
  return error.results.map((result) =>
    result.status === 'fulfilled' ? outcomeOf(result.value) : failureOf(result.reason),
  );
}

/** All errors of the library say that nothing was stored, but for the one that does not know. */
function failureOf(error: unknown): PublishOutcome {
  return error instanceof DelayQueueError && !(error instanceof BrokerUnavailableError) ? 'refused' : 'failed';
}
