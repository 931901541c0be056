import type { TopicTerms } from '../../store/fleet/topic-config.js';
import { repeatUntilServed } from '../../store/calls/serve.js';
import { NO_LIMITS, describeLimits } from '../../fleet/describe-limits.js';
import type { TopicRegistry } from '../../fleet/topic.registry.js';
import { within } from '../../time/deadline.js';
import { termsOfHandler, termsOfReceiver } from '../../fleet/topic-terms.js';
import type { HandledTopic } from '../message-handler.interface.js';
import type { ConsumerContext } from '../consumer-context.js';

/** Longest time that storing terms can keep a process from consuming, in milliseconds. */
const STORE_TIMEOUT = 3000;

export interface OwnTermsOptions {
  readonly context: ConsumerContext;
  readonly topics: TopicRegistry;
  /** Aborts when the process stops. */
  readonly signal: AbortSignal;
}

/** Stores this process's limits and handling settings of topics: those of the process that booted last hold. */
export class OwnTerms {
  readonly #options: OwnTermsOptions;

  constructor(options: OwnTermsOptions) {
    this.#options = options;
  }

  /** Stores the terms of a topic that this process handles. If they cannot be stored now, nothing waits for that. Never rejects. */
  async say({ topic, settings }: HandledTopic): Promise<void> {
    await this.#store(topic, termsOfHandler(settings, this.#options.topics.terms(topic)));
  }

  /** Does the same for a topic that is only received, as far as its settings are configured in this process. */
  async sayWhatIsTold(topic: string): Promise<void> {
    const { topics } = this.#options;
    await this.#store(topic, termsOfReceiver(topics.settings(topic), topics.terms(topic)));
  }

  async #store(topic: string, terms: TopicTerms): Promise<void> {
    const { topics, context } = this.#options;
    const before = topics.takeTerms(topic, terms);
    if (!before) return;
    const change = { before: describeLimits(before.limits), after: describeLimits(terms.limits) };
    await within(context.clock, STORE_TIMEOUT, this.#tell(topic, change)).catch(() => {});
  }

  /** Never rejects. */
  async #tell(topic: string, { before, after }: { before: string; after: string }): Promise<void> {
    const { topics, context, signal } = this.#options;
    const { broker, clock, log, events } = context;
    try {
      await repeatUntilServed(() => topics.storeTerms(topic), { clock, signal });
      if (before !== after && before === NO_LIMITS) log.log(`The limits of topic '${topic}' are ${after}`);
      else if (before !== after)
        log.warn(`The limits of topic '${topic}' are from now on ${after}; they were ${before}`);
      await broker.fleet.tell({ signal: { kind: 'limits', topic } });
    } catch (error) {
      if (!signal.aborted) events.emit('errors', { source: 'limit', topic, error });
    }
  }
}
