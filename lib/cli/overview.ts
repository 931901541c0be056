import type { FleetReceiver, TopicStats } from '../admin/index.js';
import type { DelayQueueAdmin } from '../index.js';
import { LATE, oldestOverdueOf } from '../admin/topic-stats.js';
import { type ToldError, toldError } from './cli-error.js';
import { explaining } from './commands-for-cause.js';
import type { Paint } from './paint.js';
import type { Column } from './table.js';
import { shown, shownCount, shownNumber, told } from './text.js';
import { relative, shownDuration } from './times.js';

/** A topic of the overview, with its counts or with the error that prevented the count. */
export interface OverviewTopic {
  readonly topic: string;
  /** Consumers that receive it, or did so recently. */
  readonly receivers: readonly FleetReceiver[];
  readonly stats: TopicStats | undefined;
  readonly error: ToldError | undefined;
}

/**
 * Counts all topics, in the order of their names.
 *
 * @throws the error of the first one if none can be counted
 */
export async function countAll(admin: DelayQueueAdmin): Promise<OverviewTopic[]> {
  // Concurrently: with a part of Redis away, each of them takes as long as its timeout.
  const [all, fleet] = await Promise.all([
    admin.topics().then((names) => admin.statsOf(names)),
    admin.fleet({ minutes: 0 }),
  ]);
  const [first] = all;
  if (first && !first.stats && all.every(({ stats }) => !stats)) throw first.error;
  return all.map((one) => {
    const { topic, stats } = one;
    const receivers = fleet.receivers.filter((receiver) => receiver.topic === topic);
    return { topic, receivers, stats, error: stats ? undefined : toldError(one.error) };
  });
}

/**
 * Returns the command that explains why a message of the worst topic waits: one that is late, or else one whose last attempt failed;
 * `undefined` if there is none. It asks for a page of messages.
 */
export async function nextCommand(
  admin: Pick<DelayQueueAdmin, 'peek'>,
  counted: readonly TopicStats[],
  now: number,
): Promise<string | undefined> {
  // Lists need all partitions.
  const whole = counted.filter(({ unreachable }) => unreachable.length === 0);
  const since = (stats: TopicStats): number => oldestOverdueOf(stats)?.getTime() ?? now;
  const late = whole.filter((stats) => now - since(stats) > LATE).toSorted((a, b) => since(a) - since(b));
  const [worst = whole.find(({ retrying }) => retrying > 0)] = late;
  if (!worst) return undefined;
  // In the order of due times, so that late messages come first, and those that are retried soon.
  const { messages } = await admin.peek(worst.topic, 'scheduled');
  const example = messages.find(({ at, failure }) => at.getTime() <= now || failure !== undefined);
  return example && explaining(example);
}

/** Returns the JSON form of a topic. */
export function overviewDocument({ topic, receivers, stats, error }: OverviewTopic): object {
  return stats ? { ...stats, receivers } : { topic, error: { code: error?.code, message: error?.message } };
}

/** Returns the columns of the overview. The trouble of a topic comes last, since it can be long. */
export function overviewColumns(now: number, paint: Paint): Column<OverviewTopic>[] {
  return [
    { title: 'TOPIC', cell: ({ topic }) => topic },
    countColumn('SCHEDULED', ({ scheduled }) => scheduled),
    countColumn('DUE', ({ due }) => due),
    countColumn('IN FLIGHT', ({ inFlight }) => inFlight),
    {
      ...countColumn('RETRYING', ({ retrying }) => retrying),
      paint: (text, { stats }) => (stats && stats.retrying > 0 ? paint('yellow', text) : text),
    },
    {
      ...countColumn('DEAD', ({ dead }) => dead),
      paint: (text, { stats }) => (stats && stats.dead > 0 ? paint('red', text) : text),
    },
    { title: 'NEXT DUE', cell: ({ stats }) => (stats?.nextDueAt ? relative(stats.nextDueAt, now) : '-') },
    {
      title: 'OLDEST OVERDUE',
      cell: ({ stats }) => told(stats && oldestOverdueOf(stats), (at) => shownDuration(now - at.getTime())) ?? '-',
      align: 'right',
    },
    { title: 'TROUBLE', cell: (one) => troubleOf(one, now), paint: (text) => paint('yellow', text) },
  ];
}

function countColumn(title: string, count: (stats: TopicStats) => number): Column<OverviewTopic> {
  return { title, cell: ({ stats }) => (stats ? shownNumber(count(stats)) : '-'), align: 'right' };
}

/** Returns the obvious trouble of a topic; empty if there is none. */
function troubleOf({ receivers, stats, error }: OverviewTopic, now: number): string {
  if (!stats) return shown(error?.message ?? '');
  const { paused, due, blockedDue, heldUntil, oldestBlockedDueAt, partitions, unreachable } = stats;
  if (unreachable.length > 0) {
    return `${unreachable.length} of ${partitions.length + unreachable.length} partitions do not answer and are not counted`;
  }
  if (paused) return 'paused';
  if (heldUntil && heldUntil.getTime() > now) return `held for ${shownDuration(heldUntil.getTime() - now)}`;
  const unowned = partitions.filter(({ owner }) => owner === undefined).length;
  if (unowned === 0) {
    const isLate = oldestBlockedDueAt !== undefined && now - oldestBlockedDueAt.getTime() > LATE;
    return isLate ? `${shownNumber(blockedDue)} overdue behind others of their key, or its limits` : '';
  }
  if (receivers.length > 0 && receivers.every(({ waiting }) => waiting === 0)) return shownWait(receivers, due, now);
  return unowned === partitions.length ? 'handled by nobody' : `${unowned} of ${partitions.length} partitions unowned`;
}

/** Returns the trouble of a topic that no consumer waits to receive now. */
function shownWait(receivers: readonly FleetReceiver[], due: number, now: number): string {
  const busy = receivers.filter(({ state }) => state === 'busy').length;
  if (busy > 0) return due > 0 ? `${shownCount(busy, 'receiver')}, busy` : '';
  if (receivers.some(({ state }) => state === 'idle')) return '';
  const last = Math.max(...receivers.map(({ seenAt }) => seenAt.getTime()));
  return `received by nobody for ${shownDuration(now - last)}`;
}
