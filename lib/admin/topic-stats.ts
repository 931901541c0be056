import type { PartitionCounters, PartitionStats } from '../store/messages/partition-counts.js';
import { settleSome } from '../store/calls/settle-some.js';
import { liveSessions } from '../fleet/live-processes.js';
import { partitionsOf } from '../store/partitions.js';
import { type AdminDependencies, served } from './admin-dependencies.js';
import {
  type PartitionAnswers,
  answersOf,
  askPartitions,
  partitionsToAsk,
  settlePartitions,
} from './ask-partitions.js';

/**
 * Counts of a topic, or of one of its partitions.
 *
 * @publicApi
 */
export interface TopicCounts {
  /** Waiting messages, including those that are due or blocked. */
  readonly scheduled: number;
  /** Messages whose time has come and that no process has claimed yet. */
  readonly due: number;
  /**
   * Messages that wait behind others of their key, or for its limits.
   *
   * @see docs/guides/order.md
   * @see docs/guides/limits.md#limits-per-key
   */
  readonly blocked: number;
  /** Blocked messages whose time has come. They are late like those that are `due`, and start once others of their key end. */
  readonly blockedDue: number;
  /** Messages that are being handled. */
  readonly inFlight: number;
  /** Dead letters. */
  readonly dead: number;
  /**
   * Messages that have ended and are kept.
   *
   * @see docs/guides/finished.md
   */
  readonly finished: number;
  /** Messages whose last attempt failed and that are tried again: they wait, or are in flight. */
  readonly retrying: number;
  /** The earliest due time; `undefined` if nothing waits that could be delivered then. */
  readonly nextDueAt: Date | undefined;
  /** The earliest due time among those that are due; `undefined` if none is. Its age shows how late handling is. */
  readonly oldestDueAt: Date | undefined;
  /** The earliest due time among those that are due and blocked; `undefined` if none is. */
  readonly oldestBlockedDueAt: Date | undefined;
  /** Whether nothing is handed out until someone resumes it; for a topic, whether any of its partitions is paused. */
  readonly paused: boolean;
  /**
   * Time until which nothing is handed out, because someone holds the topic or a handler has met a rate limit; `undefined` if neither. For a
   * topic, that of the partition that is held longest.
   *
   * @see docs/guides/limits.md#handling-429
   */
  readonly heldUntil: Date | undefined;
  /** Counters of events since the topic was first used. */
  readonly counters: TopicCounters;
}

/**
 * Counters of events since the topic was first used. They only grow, and are kept in Redis.
 *
 * @publicApi
 */
export interface TopicCounters {
  /** Messages that were published; one that was replaced counts again. */
  readonly published: number;
  /** Deliveries; each attempt counts. */
  readonly delivered: number;
  /** Messages that were handled. */
  readonly acked: number;
  /** Attempts that failed and are repeated. */
  readonly retried: number;
  /** Messages that became dead letters. */
  readonly dead: number;
  /** Messages that were cancelled or drained. */
  readonly cancelled: number;
  /** Messages that became dead letters because they were not delivered within `expireAfter`. */
  readonly expired: number;
  /** Outcomes that came after the lease had ended, and changed nothing. */
  readonly stale: number;
  /** Entries without a message, and messages in no state, that were found and removed: something else has written here. */
  readonly repaired: number;
}

/**
 * Counts of a partition, and its owner.
 *
 * @publicApi
 */
export interface PartitionStatus extends TopicCounts {
  /** Its number, from 0. */
  readonly partition: number;
  /** Name of the process that owns it; `undefined` if none does, or its session has ended. */
  readonly owner: string | undefined;
}

/**
 * Counts of a topic, in total and by partition.
 *
 * @publicApi
 */
export interface TopicStats extends TopicCounts {
  /** The topic that is counted. */
  readonly topic: string;
  /** Partitions that answered, ascending. */
  readonly partitions: readonly PartitionStatus[];
  /**
   * Partitions that did not answer in time, because their shard of a Redis Cluster is down. No count includes their messages. Empty if the
   * counts are complete.
   */
  readonly unreachable: readonly number[];
}

/** Time after the due time beyond which a waiting message is late, in milliseconds. */
export const LATE = 10_000;

/** Returns the earliest due time of all messages that are due and have not begun, including those behind others of their key. */
export function oldestOverdueOf(counts: Pick<TopicCounts, 'oldestDueAt' | 'oldestBlockedDueAt'>): Date | undefined {
  return earliest([counts.oldestDueAt, counts.oldestBlockedDueAt]);
}

/** A topic with its counts, or with the error that prevented the count. */
export type CountedTopic =
  | { readonly topic: string; readonly stats: TopicStats }
  | { readonly topic: string; readonly stats?: undefined; readonly error: unknown };

/**
 * Counts what topics hold. A topic that cannot be counted, because its stored data is damaged or its shard is down, does not keep the
 * others from being counted.
 *
 * @throws BrokerUnavailableError if the live processes cannot be determined
 */
export async function countTopics(dependencies: AdminDependencies, topics: readonly string[]): Promise<CountedTopic[]> {
  const { broker } = dependencies;
  const [live, configs] = await served(dependencies, () =>
    Promise.all([liveSessions(broker), broker.fleet.configsOf(topics)]),
  );
  const listed = topics.map((topic, i) => ({ topic, config: configs[i] }));
  const places = await settleSome(listed, async ({ topic, config }) =>
    config ? partitionsOf(topic, config.partitions) : served(dependencies, () => partitionsToAsk(broker, topic)),
  );
  const partitions = places.flatMap((place) => (place.status === 'fulfilled' ? place.value : []));
  const counted = await settlePartitions(dependencies, partitions, (partition) => broker.messages.stats(partition));
  let begin = 0;
  return places.map((place, i) => {
    const topic = topics[i] as string;
    try {
      if (place.status === 'rejected') throw place.reason;
      const answers = answersOf(place.value, counted.slice(begin, (begin += place.value.length)));
      return { topic, stats: toStats(topic, answers, live) };
    } catch (error) {
      return { topic, error };
    }
  });
}

/**
 * Counts what a topic holds.
 *
 * @throws BrokerUnavailableError
 */
export async function countTopic(dependencies: AdminDependencies, topic: string): Promise<TopicStats> {
  const { broker } = dependencies;
  const [partitions, sessions] = await served(dependencies, () =>
    Promise.all([partitionsToAsk(broker, topic), liveSessions(broker)]),
  );
  return toStats(
    topic,
    await askPartitions(dependencies, partitions, (partition) => broker.messages.stats(partition)),
    sessions,
  );
}

function toStats(
  topic: string,
  { answers, unreachable }: PartitionAnswers<PartitionStats>,
  live: ReadonlySet<string>,
): TopicStats {
  const partitions = answers.map(([{ index }, stats]) => toStatus(index, stats, live));
  const sum = (value: (status: PartitionStatus) => number): number =>
    partitions.reduce((total, status) => total + value(status), 0);
  const counted = (counter: keyof TopicCounters): number => sum(({ counters }) => counters[counter]);
  return {
    topic,
    scheduled: sum(({ scheduled }) => scheduled),
    due: sum(({ due }) => due),
    blocked: sum(({ blocked }) => blocked),
    blockedDue: sum(({ blockedDue }) => blockedDue),
    inFlight: sum(({ inFlight }) => inFlight),
    dead: sum(({ dead }) => dead),
    finished: sum(({ finished }) => finished),
    retrying: sum(({ retrying }) => retrying),
    nextDueAt: earliest(partitions.map(({ nextDueAt }) => nextDueAt)),
    oldestDueAt: earliest(partitions.map(({ oldestDueAt }) => oldestDueAt)),
    oldestBlockedDueAt: earliest(partitions.map(({ oldestBlockedDueAt }) => oldestBlockedDueAt)),
    paused: partitions.some(({ paused }) => paused),
    heldUntil: latest(partitions.map(({ heldUntil }) => heldUntil)),
    counters: {
      published: counted('published'),
      delivered: counted('delivered'),
      acked: counted('acked'),
      retried: counted('retried'),
      dead: counted('dead'),
      cancelled: counted('cancelled'),
      expired: counted('expired'),
      stale: counted('stale'),
      repaired: counted('repaired'),
    },
    partitions,
    unreachable: unreachable.map(({ index }) => index),
  };
}

function toStatus(partition: number, stats: PartitionStats, live: ReadonlySet<string>): PartitionStatus {
  const { scheduled, due, blocked, blockedDue, inFlight, dead, finished, retrying, owner, paused } = stats;
  const nextDueAt = dateOrNone(stats.nextDueAt);
  return {
    partition,
    scheduled,
    due,
    blocked,
    blockedDue,
    inFlight,
    dead,
    finished,
    retrying,
    nextDueAt,
    oldestDueAt: due > 0 ? nextDueAt : undefined,
    oldestBlockedDueAt: dateOrNone(stats.oldestBlockedDueAt),
    paused,
    heldUntil: dateOrNone(stats.heldUntil),
    owner: owner !== undefined && live.has(owner) ? owner : undefined,
    counters: toCounters(stats.counters),
  };
}

function dateOrNone(time: number | undefined): Date | undefined {
  return time === undefined ? undefined : new Date(time);
}

function toCounters({ died, ...counters }: PartitionCounters): TopicCounters {
  return { ...counters, dead: died };
}

function earliest(times: readonly (Date | undefined)[]): Date | undefined {
  return inOrder(times)[0];
}

function latest(times: readonly (Date | undefined)[]): Date | undefined {
  return inOrder(times).at(-1);
}

function inOrder(times: readonly (Date | undefined)[]): Date[] {
  return times.filter((time) => time !== undefined).toSorted((a, b) => a.getTime() - b.getTime());
}
