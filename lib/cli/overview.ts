import type { DelayQueueAdmin } from '../admin/delay-queue.admin.js';
import type { TopicStats } from '../admin/topic-stats.js';
import { type ToldError, toldError } from './cli-error.js';
import type { Paint } from './paint.js';
import type { Column } from './table.js';
import { shown, shownNumber } from './text.js';
import { relative, shownDuration } from './times.js';

/** A topic of the overview: what it holds, or why that cannot be told. */
export interface OverviewTopic {
  readonly topic: string;
  readonly stats: TopicStats | undefined;
  readonly error: ToldError | undefined;
}

/**
 * Counts all topics, in the order of their names.
 *
 * @throws what the first one failed with if none can be counted
 */
export async function countAll(admin: DelayQueueAdmin): Promise<OverviewTopic[]> {
  const all = await admin.statsOf(await admin.topics());
  const [first] = all;
  if (first && !first.stats && all.every(({ stats }) => !stats)) throw first.error;
  return all.map((one) =>
    one.stats ? { ...one, error: undefined } : { topic: one.topic, stats: undefined, error: toldError(one.error) },
  );
}

/** The form of a topic in JSON. */
export function overviewDocument({ topic, stats, error }: OverviewTopic): object {
  return stats ?? { topic, error: { code: error?.code, message: error?.message } };
}

/** A line of the overview for each topic. What is wrong stands last, since it may be long. */
export function overviewColumns(now: number, paint: Paint): Column<OverviewTopic>[] {
  return [
    { title: 'TOPIC', cell: ({ topic }) => topic },
    countColumn('SCHEDULED', ({ scheduled }) => scheduled),
    countColumn('DUE', ({ due }) => due),
    countColumn('IN FLIGHT', ({ inFlight }) => inFlight),
    {
      ...countColumn('DEAD', ({ dead }) => dead),
      paint: (text, { stats }) => (stats && stats.dead > 0 ? paint('red', text) : text),
    },
    { title: 'NEXT DUE', cell: ({ stats }) => (stats?.nextDueAt ? relative(stats.nextDueAt, now) : '-') },
    {
      title: 'OLDEST OVERDUE',
      cell: ({ stats }) => (stats?.oldestDueAt ? shownDuration(now - stats.oldestDueAt.getTime()) : '-'),
      align: 'right',
    },
    { title: 'TROUBLE', cell: troubleOf, paint: (text) => paint('yellow', text) },
  ];
}

function countColumn(title: string, count: (stats: TopicStats) => number): Column<OverviewTopic> {
  return { title, cell: ({ stats }) => (stats ? shownNumber(count(stats)) : '-'), align: 'right' };
}

/** What is wrong with a topic at first sight; empty if nothing is. */
function troubleOf({ stats, error }: OverviewTopic): string {
  if (!stats) return shown(error?.message ?? '');
  const { paused, partitions, unreachable } = stats;
  if (unreachable.length > 0) {
    return `${unreachable.length} of ${partitions.length + unreachable.length} partitions do not answer and are not counted`;
  }
  if (paused) return 'paused';
  const unowned = partitions.filter(({ owner }) => owner === undefined).length;
  if (unowned === 0) return '';
  return unowned === partitions.length ? 'handled by nobody' : `${unowned} of ${partitions.length} partitions unowned`;
}
