import type { GroupStore, MessageStore, PartitionStats } from '../broker/broker.interface.js';
import type { PartitionStatus, TopicStats } from './topic-stats.interface.js';

export type CountedStore = Pick<MessageStore, 'stats'> & Pick<GroupStore, 'configOf'>;

/** Counts what a topic holds, a call a partition. */
export async function countTopic(store: CountedStore, topic: string): Promise<TopicStats> {
  const count = (await store.configOf(topic))?.partitions ?? 0;
  const partitions = await Promise.all(
    Array.from({ length: count }, async (_, index) => toStatus(index, await store.stats({ topic, index }))),
  );
  const sum = (value: (status: PartitionStatus) => number): number =>
    partitions.reduce((total, status) => total + value(status), 0);
  const dueTimes = partitions.flatMap(({ nextDueAt }) => (nextDueAt ? [nextDueAt.getTime()] : []));
  return {
    topic,
    scheduled: sum(({ scheduled }) => scheduled),
    due: sum(({ due }) => due),
    inFlight: sum(({ inFlight }) => inFlight),
    dead: sum(({ dead }) => dead),
    nextDueAt: dueTimes.length > 0 ? new Date(Math.min(...dueTimes)) : undefined,
    partitions,
  };
}

function toStatus(partition: number, stats: PartitionStats): PartitionStatus {
  const { scheduled, due, inFlight, dead, nextDueAt, owner } = stats;
  return {
    partition,
    scheduled,
    due,
    inFlight,
    dead,
    nextDueAt: nextDueAt === undefined ? undefined : new Date(nextDueAt),
    owner,
  };
}
