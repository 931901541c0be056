import { repeatUntilServed } from '../../broker/serve.js';
import { NO_LIMITS } from '../../fleet/describe-limits.js';
import type { TopicRegistry } from '../../fleet/topic.registry.js';
import { within } from '../../time/deadline.js';
import type { ConsumerContext } from '../consumer-context.js';

/** How long storing limits may keep a process from consuming, in milliseconds. */
const STORE_TIMEOUT = 3000;

export interface OwnLimitsOptions {
  readonly context: ConsumerContext;
  readonly topics: TopicRegistry;
  /** Aborts when the process stops. */
  readonly signal: AbortSignal;
}

/** Stores the limits of topics that this process is configured with: those of the process that has booted last hold. */
export class OwnLimits {
  readonly #options: OwnLimitsOptions;

  constructor(options: OwnLimitsOptions) {
    this.#options = options;
  }

  /** If they cannot be stored now, nobody waits for that. Never rejects. */
  async store(topic: string): Promise<void> {
    const { topics, context } = this.#options;
    const change = topics.takeLimits(topic);
    if (!change) return;
    await within(context.clock, STORE_TIMEOUT, this.#tell(topic, change)).catch(() => {});
  }

  /** Never rejects. */
  async #tell(topic: string, { before, after }: { before: string; after: string }): Promise<void> {
    const { topics, context, signal } = this.#options;
    const { broker, clock, log, events } = context;
    try {
      await repeatUntilServed(() => topics.storeLimits(topic), { clock, signal });
      if (before === NO_LIMITS) log.log(`The limits of topic '${topic}' are ${after}`);
      else log.warn(`The limits of topic '${topic}' are from now on ${after}; they were ${before}`);
      await broker.tell({ signal: { kind: 'limits', topic } });
    } catch (error) {
      if (!signal.aborted) events.emit('errors', { source: 'limit', topic, error });
    }
  }
}
