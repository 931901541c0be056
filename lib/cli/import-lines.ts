import type { BullmqCounts } from '../bullmq/bullmq-queue.js';
import { type ImportCounts, type LeftJobs, type LeftReason, movedOf } from '../bullmq/import-counts.js';
import type { Cli } from './cli.js';
import { type Column, pairs, table } from './table.js';
import { shown, shownCount, shownNumber } from './text.js';

/** What an import has done, or would do. */
export interface ImportResult {
  readonly queue: string;
  readonly planned: ImportCounts;
  /** `undefined`: it was a dry run. */
  readonly moved: ImportCounts | undefined;
  readonly remaining: BullmqCounts;
  readonly aborted: boolean;
}

export function importDocument({ queue, planned, moved, remaining, aborted }: ImportResult): object {
  const { topics, left } = moved ?? planned;
  return {
    queue,
    counted: countedOf(planned),
    moved: moved ? movedOf(moved) : 0,
    topics: Object.fromEntries(topics),
    left,
    remaining,
    dryRun: !moved,
    aborted,
  };
}

export function importLines({ planned, moved, remaining }: ImportResult, cli: Pick<Cli, 'paint' | 'width'>): string[] {
  const { left } = moved ?? planned;
  // What neither went nor stays was not there any more when its turn came, or came later.
  const others = moved ? countedOf(planned) - countedOf(moved) : 0;
  return [
    ...pairs(
      [
        ['counted', shownCount(countedOf(planned), 'delayed job')],
        [moved ? 'moved' : 'to move', topicsText(moved ?? planned)],
        ['left', shownNumber(leftOf(moved ?? planned))],
        ['meanwhile', othersText(others)],
        [
          'in BullMQ',
          `${shownNumber(remaining.delayed)} delayed, ${shownNumber(remaining.waiting)} due, ${shownNumber(remaining.active)} active`,
        ],
      ],
      cli.paint,
    ),
    ...(left.length > 0 ? ['', ...table(LEFT_COLUMNS, left, cli)] : []),
  ];
}

function topicsText(counts: ImportCounts): string {
  const each = [...counts.topics].map(([topic, count]) => `${shownNumber(count)} to ${shown(topic)}`);
  return each.length > 1 ? `${shownNumber(movedOf(counts))}: ${each.join(', ')}` : (each[0] ?? '0');
}

function othersText(others: number): string | undefined {
  if (others === 0) return undefined;
  if (others > 0) return `${shownCount(others, 'job')} fell due or were removed before they could be moved`;
  return `${shownCount(-others, 'job')} ${others === -1 ? 'was' : 'were'} added`;
}

const WHY: Readonly<Record<LeftReason, string>> = {
  scheduler: 'made by a job scheduler; declare a schedule, and remove the scheduler',
  flow: 'part of a flow',
  'no-record': 'its record is gone',
  refused: 'cannot be a message',
  'id-taken': 'another message with its id waits or is being handled',
  'id-dead': 'a dead letter of the topic has its id; requeue or remove that one',
  'id-finished': 'the topic keeps a finished message with its id',
  'unknown-topic': 'its topic was new; run it again',
  unverified: 'it may have been handled, but the topic has lost its data since; see --give-back',
};

const LEFT_COLUMNS: readonly Column<LeftJobs>[] = [
  { title: 'LEFT', cell: ({ count }) => shownNumber(count), align: 'right' },
  { title: 'SUCH AS', cell: ({ example: id }) => id },
  { title: 'WHY', cell: ({ reason, refusal }) => (refusal ? `${WHY[reason]}: ${refusal}` : WHY[reason]) },
];

function leftOf({ left }: ImportCounts): number {
  return left.reduce((sum, { count }) => sum + count, 0);
}

function countedOf(counts: ImportCounts): number {
  return movedOf(counts) + leftOf(counts);
}
