import { type RedisClient, addressOfClient } from '../../broker/redis/connection/redis-clients.js';
import {
  BullmqImport,
  type ImportCounts,
  type LeftJobs,
  type LeftReason,
  OtherDestinationError,
} from '../../bullmq/bullmq-import.js';
import { type BullmqCounts, BullmqQueue, isKnownVersion } from '../../bullmq/bullmq-queue.js';
import { interrupted } from '../bulk.js';
import type { Cli } from '../cli.js';
import { notFound, usageError } from '../cli-error.js';
import type { AddCommand } from '../command.js';
import { EXIT } from '../exit-codes.js';
import { example } from '../program.js';
import { Progress } from '../progress.js';
import { type Column, pairs, table } from '../table.js';
import { shown, shownCount, shownNumber } from '../text.js';

export const importBullmq: AddCommand = (program, cli) => {
  program
    .command('import-bullmq')
    .summary('move the delayed jobs of a BullMQ queue to a topic')
    .description(
      'Moves the delayed jobs of a queue of BullMQ to a topic, each at its time. Workers of BullMQ may run meanwhile: each job is ' +
        'handled once. If it was interrupted or killed, run it again. It ends with 1 if jobs have to stay with BullMQ.',
    )
    .argument('<queue>', 'name of the queue of BullMQ')
    .argument('<topic>', "name of the topic; '{name}' in it stands for the name of a job")
    .option('--from <redis>', 'Redis of BullMQ, in the forms of --redis; default: the same')
    .option('--from-prefix <prefix>', "BullMQ's option 'prefix'", 'bull')
    .option('--create', 'make topics that were never used')
    .option('--dry-run', 'count the jobs, and change nothing')
    .addHelpText(
      'after',
      example(
        'import-bullmq orders order.timeout --dry-run',
        `import-bullmq orders 'orders.{name}' --from redis://old:6379`,
      ),
    )
    .action(async (queueName, topic, { from, fromPrefix, create = false, dryRun = false }) =>
      cli.open(async (queues) =>
        cli.openOther(queues, from, async (connection) => {
          const queue = new BullmqQueue(connection, fromPrefix, queueName);
          await assertQueue(queue, queueName, fromPrefix, connection.address);
          const { producer, admin, broker, redis } = queues;
          const place = `under the prefix '${cli.prefix}' of ${addressOfClient(redis as RedisClient)}`;
          const jobs = new BullmqImport({ queue, producer, admin, topic, place, now: () => broker.now() });
          await cli.interruptible(async (signal) => {
            const counting = new Progress(cli.terminal, cli.notePaint, 'counted');
            const planned = await jobs
              .count({ signal, onProgress: (done) => counting.update(done) })
              .finally(() => counting.end());
            if (signal.aborted) throw interrupted('Nothing was changed.');
            const names = [...planned.topics.keys()];
            if (!create && !dryRun) for (const name of names) await cli.assertKnown(queues, name);
            const moved = dryRun ? undefined : await move(cli, jobs, planned, signal);
            const result = {
              queue: queueName,
              planned,
              moved,
              remaining: await queue.counts(),
              aborted: signal.aborted,
            };
            if (totalOf(result.moved?.left ?? []) > 0) cli.exitCode = EXIT.no;
            cli.print(documentOf(result), () => linesOf(result, cli));
            if (signal.aborted) throw interrupted('Run it again to move the rest.');
          });
        }),
      ),
    );
};

interface Result {
  readonly queue: string;
  readonly planned: ImportCounts;
  /** `undefined`: it was a dry run. */
  readonly moved: ImportCounts | undefined;
  readonly remaining: BullmqCounts;
  readonly aborted: boolean;
}

/** @throws CliError */
async function assertQueue(queue: BullmqQueue, name: string, prefix: string, address: string): Promise<void> {
  const version = await queue.version();
  if (version === undefined) {
    throw notFound(`BullMQ has no queue '${shown(name)}' under the prefix '${shown(prefix)}' in Redis at ${address}.`);
  }
  if (!isKnownVersion(version)) {
    throw usageError(
      `The queue '${shown(name)}' is of ${shown(version)}, whose keys are not known here. Nothing was changed.`,
    );
  }
}

async function move(cli: Cli, jobs: BullmqImport, planned: ImportCounts, signal: AbortSignal): Promise<ImportCounts> {
  const progress = new Progress(cli.terminal, cli.notePaint, 'moved', sum(planned.topics.values()));
  try {
    return await jobs.move(new Set(planned.topics.keys()), { signal, onProgress: (done) => progress.update(done) });
  } catch (error) {
    if (!(error instanceof OtherDestinationError)) throw error;
    throw usageError(
      `Another import has taken jobs of this queue to ${shown(error.destination)}, and did not come to its end. Run that one again ` +
        'first. Nothing was changed.',
    );
  } finally {
    progress.end();
  }
}

function documentOf({ queue, planned, moved, remaining, aborted }: Result): object {
  const { topics, left } = moved ?? planned;
  return {
    queue,
    counted: countedOf(planned),
    moved: moved ? sum(moved.topics.values()) : 0,
    topics: Object.fromEntries(topics),
    left,
    remaining,
    dryRun: !moved,
    aborted,
  };
}

function linesOf({ planned, moved, remaining }: Result, cli: Cli): string[] {
  const { topics, left } = moved ?? planned;
  const would = moved ? '' : 'would be ';
  // What neither went nor stays was not there any more when its turn came, or came later.
  const others = moved ? countedOf(planned) - sum(moved.topics.values()) - totalOf(left) : 0;
  return [
    ...pairs(
      [
        ['counted', shownCount(countedOf(planned), 'delayed job')],
        [
          'moved',
          [
            `${shownNumber(sum(topics.values()))} ${would}`.trimEnd(),
            ...[...topics].map(([topic, count]) => `${shownNumber(count)} to ${shown(topic)}`),
          ].join(', '),
        ],
        ['left', shownNumber(totalOf(left))],
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

function othersText(others: number): string | undefined {
  if (others === 0) return undefined;
  return others > 0
    ? `${shownCount(others, 'job')} fell due or were removed before they could be moved`
    : `${shownCount(-others, 'job')} were added`;
}

const WHY: Readonly<Record<LeftReason, string>> = {
  scheduler: 'made by a job scheduler; declare a schedule, and remove the scheduler',
  flow: 'part of a flow',
  'no-record': 'its record is gone',
  refused: 'cannot be a message',
  'id-taken': 'the topic has another message with its id',
  'unknown-topic': 'its topic was new; run it again',
};

const LEFT_COLUMNS: readonly Column<LeftJobs>[] = [
  { title: 'LEFT', cell: ({ count }) => shownNumber(count), align: 'right' },
  { title: 'SUCH AS', cell: ({ example: id }) => id },
  { title: 'WHY', cell: ({ reason, refusal }) => (refusal ? `${WHY[reason]}: ${refusal}` : WHY[reason]) },
];

function countedOf({ topics, left }: ImportCounts): number {
  return sum(topics.values()) + totalOf(left);
}

function totalOf(left: readonly LeftJobs[]): number {
  return sum(left.map(({ count }) => count));
}

function sum(numbers: Iterable<number>): number {
  return [...numbers].reduce((total, number) => total + number, 0);
}
