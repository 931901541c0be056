import { crc32 } from 'node:zlib';
import type { TopicOptions } from '../../../lib/composition/delay-queue-options.interface.js';
import type { TestedLimits } from '../../fleet/faults/history/limits.js';
import type { World } from '../world/world.js';

/** How long a delivery belongs to its process, and how long at most to whoever receives it, in milliseconds. */
export const LEASE = 3000;
export const LONGEST_LEASE = 12_000;

/** Whose messages operators change, and what schedules publish to. */
export const OPERATED = 'operated';
export const RECURRING = 'recurring';

/** To which the jobs of another queue are moved, if there is one. */
export const IMPORTED = 'imported';

/** What is published to a topic, and what has to hold of it. */
export interface SimulatedTopic {
  readonly options: TopicOptions;
  readonly limits?: TestedLimits;
  readonly ordered?: true;
  /** Whether nobody handles it, and those who want to receive its messages. */
  readonly received?: true;
  /** The handler that has it, if not that of most. */
  readonly handler?: HandlerName;
  /** Whether its messages wait for nothing but their time and a slot. */
  readonly isPrompt?: true;
  /** What a publish does that finds the latest one of its id waiting, if such are published. */
  readonly onDuplicate?: 'replace' | 'ignore';
  /** How many of them wait at most until producers wait, too: so all can be done soon after the end. */
  readonly most: number;
}

/** How a handler is called. */
export interface SimulatedHandler {
  readonly concurrency: number;
  readonly batch?: number;
  /** Whether its topics are forwarded to a client. */
  readonly forwards?: true;
}

/** Each has the topics that name it, in their order. */
export const HANDLERS = {
  Orders: { concurrency: 20 },
  Batches: { concurrency: 3, batch: 8 },
  Troubles: { concurrency: 10 },
  Shared: { concurrency: 3 },
  Client: { concurrency: 5, forwards: true },
  // What operators and schedules publish to: what others publish takes no room of it.
  Apart: { concurrency: 20 },
} as const satisfies Record<string, SimulatedHandler>;

export type HandlerName = keyof typeof HANDLERS;

const MANY_ATTEMPTS = 1000;
const FEW_ATTEMPTS = 3;

/** How late what is not wanted later may be, and how long a handler may take that is given up then. In milliseconds. */
const EXPIRY = 2000;
const TIMEOUT = 500;

/** How long what is published again and again waits for the next one, and at most. In milliseconds. */
export const QUIET = 500;
export const LONGEST_WAIT = 3 * QUIET;

function topic(options: TopicOptions = {}): TopicOptions {
  return { partitions: 4, attempts: MANY_ATTEMPTS, backoff: { type: 'fixed', delay: 200 }, ...options };
}

const LIMITED = { maxInFlight: { topic: 3 } };
const LIMITED_KEYS = { maxInFlight: { key: 2 } };
const RATED = { rateLimit: { max: 20, per: 2000 } };
const RATED_KEYS = { rateLimit: { max: 3, per: 2000, by: 'key' } } as const;

export const TOPICS: Readonly<Record<string, SimulatedTopic>> = {
  plain: { options: topic(), isPrompt: true, most: 300 },
  ordered: { options: topic({ ordered: true }), ordered: true, most: 60 },
  limited: { options: topic({ partitions: 2, ...LIMITED }), limits: LIMITED, most: 20 },
  'limited-keys': { options: topic({ partitions: 2, ...LIMITED_KEYS }), limits: LIMITED_KEYS, most: 40 },
  rated: { options: topic({ partitions: 2, ...RATED }), limits: RATED, most: 100 },
  'rated-keys': { options: topic({ partitions: 2, ...RATED_KEYS }), limits: RATED_KEYS, most: 40 },
  received: { options: topic(), received: true, most: 100 },
  'received-ordered': { options: topic({ partitions: 2, ordered: true }), ordered: true, received: true, most: 40 },
  'received-limited': { options: topic({ partitions: 2, ...LIMITED }), limits: LIMITED, received: true, most: 20 },
  'ordered-rated': {
    options: topic({ partitions: 2, ordered: true, ...RATED_KEYS }),
    limits: RATED_KEYS,
    ordered: true,
    most: 40,
  },
  batched: { options: topic(), handler: 'Batches', isPrompt: true, most: 200 },
  'batched-ordered': { options: topic({ partitions: 2, ordered: true }), handler: 'Batches', ordered: true, most: 60 },
  first: { options: topic({ partitions: 2 }), handler: 'Shared', isPrompt: true, most: 60 },
  second: { options: topic({ partitions: 2 }), handler: 'Shared', most: 60 },
  forwarded: { options: topic({ partitions: 2 }), handler: 'Client', isPrompt: true, most: 60 },
  'few-attempts': {
    options: topic({ attempts: FEW_ATTEMPTS, backoff: { type: 'steps', delays: [100, 400] } }),
    handler: 'Troubles',
    isPrompt: true,
    most: 100,
  },
  'ordered-deaths': {
    options: topic({ partitions: 2, attempts: FEW_ATTEMPTS, ordered: true }),
    handler: 'Troubles',
    ordered: true,
    most: 40,
  },
  once: { options: { partitions: 4, delivery: 'at-most-once' }, handler: 'Troubles', most: 100 },
  expiring: { options: topic({ expireAfter: EXPIRY }), handler: 'Troubles', most: 60 },
  busy: { options: topic({ partitions: 2, attempts: FEW_ATTEMPTS }), handler: 'Troubles', most: 40 },
  hanging: { options: topic({ attempts: FEW_ATTEMPTS, timeout: TIMEOUT }), handler: 'Troubles', most: 10 },
  killing: { options: topic({ partitions: 2, attempts: FEW_ATTEMPTS }), handler: 'Troubles', most: 10 },
  debounced: { options: topic({ partitions: 2 }), onDuplicate: 'replace', most: 100 },
  throttled: { options: topic({ partitions: 2 }), onDuplicate: 'ignore', most: 100 },
  // Few attempts, so that there are dead letters.
  [OPERATED]: { options: topic({ partitions: 2, attempts: 3 }), handler: 'Apart', most: 60 },
  [RECURRING]: { options: topic({ partitions: 2 }), handler: 'Apart', most: 200 },
  [IMPORTED]: { options: topic({ partitions: 2 }), handler: 'Apart', most: 60 },
};

/** Fewest topics of a seed, and how many messages wait for one of them that keeps it busy. */
const FEWEST = 3;
const BUSY = 100;

/** Few of them, or many, so that none covers what happens to others; but never only those that take long for few messages. */
export function drawTopics(world: World, hasImports: boolean): string[] {
  const random = world.random('topics');
  const names = Object.keys(TOPICS).filter((name) => name !== IMPORTED);
  const drawn = random.shuffled(names).slice(0, random.integer(FEWEST, names.length));
  const isBusy = (name: string): boolean => (TOPICS[name]?.most ?? 0) >= BUSY;
  if (!drawn.some(isBusy)) drawn.push(random.pick(names.filter(isBusy)));
  return [...names.filter((name) => drawn.includes(name)), ...(hasImports ? [IMPORTED] : [])];
}

/** What a process is told of these topics: all, or nothing of the limits of those that are received. */
export function toldOptions(topics: readonly string[], ofLimits: boolean): Record<string, TopicOptions> {
  const entries = topics.map((name) => {
    const { options, received } = TOPICS[name] as SimulatedTopic;
    const { maxInFlight: _, ...rest } = options;
    return [name, received && !ofLimits ? rest : options] as const;
  });
  return Object.fromEntries(entries);
}

/** Those that are published to with ids of their own. */
export function publishedTopics(topics: readonly string[]): string[] {
  return topics.filter((name) => {
    const { onDuplicate, handler } = TOPICS[name] ?? {};
    return !onDuplicate && handler !== 'Apart';
  });
}

/** The hash tag of the partition that has the messages of a key. */
export function placeOf({ topic: name, key }: { readonly topic: string; readonly key: string }): string {
  return `{dq:${name}:${crc32(key) % (TOPICS[name]?.options.partitions ?? 1)}}`;
}

/** Whether its messages are gone once they are handed out, so that their ids are free. */
export function isAtMostOnce(name: string): boolean {
  return TOPICS[name]?.options.delivery === 'at-most-once';
}
