import type { PartitionStats } from '../broker/broker.interface.js';
import type { TopicBacklog } from './delay-queue-metrics.interface.js';

/**
 * Adds up what the partitions of a topic hold.
 *
 * @param now the broker's clock, epoch milliseconds
 */
export function toBacklog(partitions: readonly PartitionStats[], now: number): TopicBacklog {
  const sum = (value: (stats: PartitionStats) => number): number =>
    partitions.reduce((total, stats) => total + value(stats), 0);
  return {
    scheduled: sum(({ scheduled }) => scheduled),
    due: sum(({ due }) => due),
    dead: sum(({ dead }) => dead),
    oldestOverdue: Math.max(0, ...partitions.map((stats) => overdueSeconds(stats, now))),
    unownedPartitions: sum(({ owner }) => (owner === undefined ? 1 : 0)),
    pausedPartitions: sum(({ paused }) => (paused ? 1 : 0)),
  };
}

function overdueSeconds({ due, nextDueAt }: PartitionStats, now: number): number {
  return due === 0 || nextDueAt === undefined ? 0 : (now - nextDueAt) / 1000;
}
