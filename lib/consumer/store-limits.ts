import { repeatUntilServed } from '../broker/serve.js';
import { within } from '../time/deadline.js';
import { NO_LIMITS } from '../topics/describe-limits.js';
import type { TopicRegistry } from '../topics/topic.registry.js';
import type { ConsumerContext } from './consumer-context.js';

/** How long storing limits may keep a process from consuming, in milliseconds. */
const STORE_TIMEOUT = 3000;

interface Storing {
  readonly context: ConsumerContext;
  readonly topics: TopicRegistry;
}

/**
 * Stores the limits that this process is configured with: those of the process that has booted last hold. If they cannot be stored now, the
 * boot goes on without waiting for that. Never rejects.
 *
 * @param signal ends the trying
 */
export async function storeLimits(topic: string, storing: Storing, signal: AbortSignal): Promise<void> {
  const { topics, context } = storing;
  const change = topics.takeLimits(topic);
  if (!change) return;
  await within(context.clock, STORE_TIMEOUT, tellLimits(topic, change, storing, signal)).catch(() => {});
}

/** Never rejects. */
async function tellLimits(
  topic: string,
  { before, after }: { before: string; after: string },
  { topics, context: { broker, clock, log, events } }: Storing,
  signal: AbortSignal,
): Promise<void> {
  try {
    await repeatUntilServed(() => topics.storeLimits(topic), { clock, signal });
    if (before === NO_LIMITS) log.log(`The limits of topic '${topic}' are ${after}`);
    else log.warn(`The limits of topic '${topic}' are from now on ${after}; they were ${before}`);
    await broker.tell({ signal: { kind: 'limits', topic } });
  } catch (error) {
    if (!signal.aborted) events.emit('errors', { source: 'limit', topic, error });
  }
}
