import type { Broker, PartitionCounters, PartitionStats } from '../broker/broker.interface.js';
import type { PartitionStatus, TopicCounters, TopicStats } from './topic-stats.interface.js';

export type CountedStore = Pick<Broker, 'stats' | 'configOf'>;

/** Counts what a topic holds, a call a partition. */
export async function countTopic(store: CountedStore, topic: string): Promise<TopicStats> {
  const count = (await store.configOf(topic))?.partitions ?? 0;
  const partitions = await Promise.all(
    Array.from({ length: count }, async (_, index) => toStatus(index, await store.stats({ topic, index }))),
  );
  const sum = (value: (status: PartitionStatus) => number): number =>
    partitions.reduce((total, status) => total + value(status), 0);
  const counted = (counter: keyof TopicCounters): number => sum(({ counters }) => counters[counter]);
  return {
    topic,
    scheduled: sum(({ scheduled }) => scheduled),
    due: sum(({ due }) => due),
    inFlight: sum(({ inFlight }) => inFlight),
    dead: sum(({ dead }) => dead),
    nextDueAt: earliest(partitions.map(({ nextDueAt }) => nextDueAt)),
    oldestDueAt: earliest(partitions.map(({ oldestDueAt }) => oldestDueAt)),
    paused: partitions.some(({ paused }) => paused),
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
  };
}

function toStatus(partition: number, stats: PartitionStats): PartitionStatus {
  const { scheduled, due, inFlight, dead, owner, paused } = stats;
  const nextDueAt = stats.nextDueAt === undefined ? undefined : new Date(stats.nextDueAt);
  return {
    partition,
    scheduled,
    due,
    inFlight,
    dead,
    nextDueAt,
    oldestDueAt: due > 0 ? nextDueAt : undefined,
    paused,
    owner,
    counters: toCounters(stats.counters),
  };
}

function toCounters({ died, ...counters }: PartitionCounters): TopicCounters {
  return { ...counters, dead: died };
}

function earliest(times: readonly (Date | undefined)[]): Date | undefined {
  const known = times.flatMap((time) => (time ? [time.getTime()] : []));
  return known.length > 0 ? new Date(Math.min(...known)) : undefined;
}
