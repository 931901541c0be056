import type { TopicOptions } from '../../../lib/composition/delay-queue-options.interface.js';
import type { TestedLimits } from '../../fleet/faults/history/limits.js';

/** How long a delivery belongs to its process, in milliseconds. */
export const LEASE = 3000;

/** Whose messages operators change, and what schedules publish to. */
export const OPERATED = 'operated';
export const RECURRING = 'recurring';

/** What is published to a topic, and what has to hold of it. */
export interface SimulatedTopic {
  readonly options: TopicOptions;
  readonly limits?: TestedLimits;
  readonly ordered?: true;
  /** Whether nobody handles it, and those who want to receive its messages. */
  readonly received?: true;
  /** Whether producers leave it to others to publish to it. */
  readonly apart?: true;
  /** How many of them wait at most until producers wait, too: so all can be done soon after the end. */
  readonly most: number;
}

const MANY_ATTEMPTS = 1000;

function topic(options: TopicOptions = {}): TopicOptions {
  return { partitions: 4, attempts: MANY_ATTEMPTS, backoff: { type: 'fixed', delay: 200 }, ...options };
}

const LIMITED = { maxInFlight: { topic: 3 } };
const LIMITED_KEYS = { maxInFlight: { key: 2 } };
const RATED = { rateLimit: { max: 20, per: 2000 } };
const RATED_KEYS = { rateLimit: { max: 3, per: 2000, by: 'key' } } as const;

export const TOPICS: Readonly<Record<string, SimulatedTopic>> = {
  plain: { options: topic(), most: 300 },
  ordered: { options: topic({ ordered: true }), ordered: true, most: 60 },
  limited: { options: topic({ partitions: 2, ...LIMITED }), limits: LIMITED, most: 20 },
  'limited-keys': { options: topic({ partitions: 2, ...LIMITED_KEYS }), limits: LIMITED_KEYS, most: 40 },
  rated: { options: topic({ partitions: 2, ...RATED }), limits: RATED, most: 100 },
  'rated-keys': { options: topic({ partitions: 2, ...RATED_KEYS }), limits: RATED_KEYS, most: 40 },
  received: { options: topic(), received: true, most: 100 },
  'received-ordered': { options: topic({ partitions: 2, ordered: true }), ordered: true, received: true, most: 40 },
  'received-limited': { options: topic({ partitions: 2, ...LIMITED }), limits: LIMITED, received: true, most: 20 },
  // Few attempts, so that there are dead letters.
  [OPERATED]: { options: topic({ partitions: 2, attempts: 3 }), apart: true, most: 60 },
  [RECURRING]: { options: topic({ partitions: 2 }), apart: true, most: 200 },
};

/** What a process is told of these topics: all, or nothing of the limits of those that are received. */
export function toldOptions(topics: readonly string[], ofLimits: boolean): Record<string, TopicOptions> {
  const entries = topics.map((name) => {
    const { options, received } = TOPICS[name] as SimulatedTopic;
    const { maxInFlight: _, ...rest } = options;
    return [name, received && !ofLimits ? rest : options] as const;
  });
  return Object.fromEntries(entries);
}
