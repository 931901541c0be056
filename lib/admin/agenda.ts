import type { DueCounts } from '../store/messages/partition-counts.js';
import type { Partition } from '../store/partition.js';
import { type Rules, applyRules, integer, orElse } from '../checks/rules.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { optionalTime, toDate } from '../time/date.js';
import { partitionsOf } from '../store/partitions.js';
import { type AdminDependencies, served } from './admin-dependencies.js';
import { askPartitions, partitionsToAsk } from './ask-partitions.js';

/**
 * The range that `agenda()` counts, and its buckets.
 *
 * @publicApi
 */
export interface AgendaOptions {
  /** Start of the range; a number is epoch milliseconds on the Redis server's clock. @defaultValue now */
  readonly from?: Date | number;
  /** End of the range, not included. @defaultValue an hour after `from` */
  readonly to?: Date | number;
  /** Number of equal parts that the range is cut into, 1 to 200. @defaultValue 60 */
  readonly buckets?: number;
}

/**
 * A part of an {@link Agenda}.
 *
 * @publicApi
 */
export interface AgendaBucket {
  readonly from: Date;
  /** Not included. */
  readonly to: Date;
  /** Number of messages that fall due in it. */
  readonly count: number;
}

/**
 * Number of waiting messages by due time. Messages in flight and dead letters don't count.
 *
 * @publicApi
 */
export interface AgendaCounts {
  /** All waiting messages: `earlier`, those in the buckets, and `later`. */
  readonly scheduled: number;
  /** Messages that are due by now, whatever the range, including those that wait behind others of their key. */
  readonly overdue: number;
  /** Messages that are due before the range. */
  readonly earlier: number;
  /** Messages that are due after the range. */
  readonly later: number;
}

/**
 * Waiting messages by due time, see `DelayQueueAdmin.agenda()`.
 *
 * @publicApi
 */
export interface Agenda extends AgendaCounts {
  readonly from: Date;
  readonly to: Date;
  /** In order, without gaps. */
  readonly buckets: readonly AgendaBucket[];
  /** The same counts for each topic with waiting messages. */
  readonly topics: readonly TopicAgenda[];
  /**
   * Partitions that did not answer in time, because their shard of a Redis Cluster is down. No count includes their messages. Empty if the
   * counts are complete.
   */
  readonly unreachable: readonly UnreachablePartitions[];
}

/**
 * Partitions of a topic that have not answered in time.
 *
 * @publicApi
 */
export interface UnreachablePartitions {
  readonly topic: string;
  /** Ascending. */
  readonly partitions: readonly number[];
}

/**
 * Waiting messages of one topic by due time.
 *
 * @publicApi
 */
export interface TopicAgenda extends AgendaCounts {
  readonly topic: string;
  /** The counts of the buckets, in their order. */
  readonly counts: readonly number[];
}

const HOUR = 3_600_000;
const DEFAULT_BUCKETS = 60;
const MAX_BUCKETS = 200;

/**
 * Counts waiting messages by due time, with one short call per partition.
 *
 * @param topic `undefined`: all topics
 * @throws InvalidArgumentError, BrokerUnavailableError
 */
export async function agendaOf(
  dependencies: AdminDependencies,
  topic: string | undefined,
  options: AgendaOptions,
): Promise<Agenda> {
  const times = timesOf(options, dependencies.broker.now());
  const { topics, unreachable } = await countTopics(dependencies, topic, times);
  const sum = (value: (of: TopicAgenda) => number): number => topics.reduce((total, of) => total + value(of), 0);
  return {
    from: toDate(times[0] as number),
    to: toDate(times.at(-1) as number),
    scheduled: sum(({ scheduled }) => scheduled),
    overdue: sum(({ overdue }) => overdue),
    earlier: sum(({ earlier }) => earlier),
    later: sum(({ later }) => later),
    buckets: times.slice(1).map((to, i) => ({
      from: toDate(times[i] as number),
      to: toDate(to),
      count: sum(({ counts }) => counts[i] as number),
    })),
    topics,
    unreachable,
  };
}

/** Returns the boundaries of the buckets, beginning with the start of the first one. */
function timesOf(options: AgendaOptions, now: number): number[] {
  const { buckets, ...given } = applyRules(AGENDA_RULES, 'The options of agenda', options, '');
  const from = given.from ?? Math.floor(now);
  const to = given.to ?? from + HOUR;
  if (to - from < buckets) {
    throw new InvalidArgumentError(
      `to must be at least a millisecond for each of the ${buckets} buckets after from. ` +
        `Given: from ${toDate(from).toISOString()} to ${toDate(to).toISOString()}.`,
    );
  }
  return Array.from({ length: buckets + 1 }, (_, i) => from + Math.round((i * (to - from)) / buckets));
}

const AGENDA_RULES = {
  from: optionalTime,
  to: optionalTime,
  buckets: orElse(integer(1, MAX_BUCKETS), DEFAULT_BUCKETS),
} satisfies Rules<AgendaOptions>;

async function countTopics(
  dependencies: AdminDependencies,
  topic: string | undefined,
  times: readonly number[],
): Promise<Pick<Agenda, 'topics' | 'unreachable'>> {
  const { broker } = dependencies;
  const topics = topic === undefined ? await served(dependencies, () => broker.fleet.topics()) : [topic];
  const partitions = await served(dependencies, async () => {
    if (topic !== undefined) return partitionsToAsk(broker, topic);
    const configs = await broker.fleet.configsOf(topics);
    return topics.flatMap((name, i) => partitionsOf(name, configs[i]?.partitions ?? 0));
  });
  const counted = await askPartitions(dependencies, partitions, (partition) =>
    broker.messages.countDue(partition, times),
  );
  const agendas = new Map<string, TopicAgenda>();
  for (const [partition, counts] of counted.answers) {
    if (counts.scheduled > 0) agendas.set(partition.topic, added(agendas.get(partition.topic), partition, counts));
  }
  return {
    topics: topics.flatMap((name) => agendas.get(name) ?? []),
    unreachable: topics.flatMap((name) => {
      const away = counted.unreachable.filter((partition) => partition.topic === name);
      return away.length === 0 ? [] : [{ topic: name, partitions: away.map(({ index }) => index) }];
    }),
  };
}

/** Adds the counts of one more partition to those of its topic. */
function added(agenda: TopicAgenda | undefined, { topic }: Partition, counts: DueCounts): TopicAgenda {
  const { before, scheduled, due } = counts;
  const earlier = before[0] as number;
  return {
    topic,
    scheduled: scheduled + (agenda?.scheduled ?? 0),
    overdue: due + (agenda?.overdue ?? 0),
    earlier: earlier + (agenda?.earlier ?? 0),
    later: scheduled - (before.at(-1) as number) + (agenda?.later ?? 0),
    counts: before.slice(1).map((count, i) => count - (before[i] as number) + (agenda?.counts[i] ?? 0)),
  };
}
