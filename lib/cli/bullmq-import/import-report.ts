import { pairs } from '../table.js';
import type { Paint } from '../paint.js';
import { shown, shownCount, shownNumber } from '../text.js';
import type { Met } from './bull-import.js';
import type { BullCounts } from './bull-queue.js';
import type { ImportTotals } from './import-session.js';
import type { JobScheduler } from './job-schedulers.js';

/** What the command prints, in JSON as it is. */
export interface ImportReport {
  readonly queue: string;
  readonly topic: string;
  readonly dryRun: boolean;
  readonly aborted: boolean;
  /** Jobs that can be taken, in a dry run. */
  readonly matched: number;
  /** Jobs that an earlier run had taken; in a dry run those that one has left. */
  readonly resumed: number;
  /** What all runs have done since the first one that began with no job between the queues. */
  readonly total: ImportTotals;
  /** Whether every job that was taken has become one of the others. */
  readonly complete: boolean;
  /** Jobs that were met and stay with BullMQ. */
  readonly kept: { readonly flows: number; readonly repeated: number; readonly large: number };
  /** Jobs that were given back, and why; at most ten. */
  readonly refused: Met['refused'];
  /** Jobs whose options a message cannot have. */
  readonly dropped: Met['dropped'];
  /** What the queue has now. */
  readonly left: BullCounts;
  readonly schedulers: { readonly total: number; readonly listed: readonly JobScheduler[] };
}

export function isComplete({ taken, published, duplicates, returned, lost }: ImportTotals, open: number): boolean {
  return taken === published + duplicates + returned + lost && open === 0;
}

/** The report as people read it. */
export function linesOf(report: ImportReport, paint: Paint): string[] {
  const { dryRun, matched, resumed, total, left } = report;
  const done: [string, string][] = dryRun
    ? [
        ['would move', shownCount(matched, 'job')],
        ['of an earlier run', shownCount(resumed, 'job')],
      ]
    : [
        ['taken', `${shownCount(total.taken, 'job')}, of them ${shownNumber(resumed)} by an earlier run`],
        ['published', shownNumber(total.published)],
        ['there before', shownNumber(total.duplicates)],
        ['given back', shownNumber(total.returned)],
      ];
  const stays = `delayed ${left.delayed}, waiting ${left.waiting}, active ${left.active}, waiting for children ${left.waitingChildren}`;
  return [...pairs([...done, ['in BullMQ', stays]], paint), ...adviceOf(report)];
}

function adviceOf({
  kept,
  refused,
  dropped,
  total,
  left,
  schedulers,
  complete,
  dryRun,
  topic,
}: ImportReport): string[] {
  const lines: string[] = [];
  const add = (count: number, text: string): void => {
    if (count > 0) lines.push(`${shownCount(count, 'job')} ${text}`);
  };
  add(kept.flows, 'of flows: let BullMQ finish them. A handler that publishes the next message takes their place.');
  add(kept.repeated, 'of job schedulers, see below.');
  add(kept.large, 'with more data than a message can have (1 MiB): store it elsewhere.');
  add(dropped.backoff, 'with a custom backoff: give it to the handler or the topic, as a function.');
  add(dropped.priority, 'with a priority, which a message has not: use a topic of its own for what is urgent.');
  for (const { id, reason } of refused) lines.push(`Job '${shown(id)}' was given back: ${shown(reason)}`);
  if (total.lost > 0) lines.push(`${shownCount(total.lost, 'job')} had been deleted while they were taken.`);
  if (!dryRun && !complete) lines.push(`${shownCount(left.open, 'job')} between the two queues: run this again.`);
  return [...(lines.length > 0 ? ['', ...lines] : []), ...schedulerLines(schedulers, topic)];
}

function schedulerLines({ total, listed }: ImportReport['schedulers'], topic: string): string[] {
  if (total === 0) return [];
  return [
    '',
    `${shownCount(total, 'job scheduler')}, which this does not move. Declare each with @RecurringHandler() or, for topic '${topic}' ` +
      'or another, with DelayQueueSchedules, and remove it from BullMQ (removeJobScheduler) in the same deploy:',
    ...listed.map(({ advice }) => `  ${shown(advice)}`),
    ...(total > listed.length ? [`  … and ${shownNumber(total - listed.length)} more`] : []),
  ];
}
