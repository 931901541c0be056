import { type RedisClient, addressOfClient } from '../../engines/redis/connection/redis-clients.js';
import type {
  BullmqCounts,
  BullmqImport,
  BullmqQueue,
  ImportCounts,
  LeftJobs,
  LeftReason,
  OtherDestinationError,
} from '../../../tools/import-bullmq/index.js';
import { interrupted } from '../bulk.js';
import type { Cli, Queues } from '../cli.js';
import { type CliError, notFound, usageError } from '../cli-error.js';
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
    .option('--give-back', 'first give back to BullMQ what an import has taken that cannot come to its end any more')
    .addHelpText(
      'after',
      example(
        'import-bullmq orders order.timeout --dry-run',
        `import-bullmq orders 'orders.{name}' --from redis://old:6379`,
      ),
    )
    .action(async (queueName, topic, { from, fromPrefix, giveBack, ...options }) => {
      if (giveBack && options.dryRun) throw usageError('Give one of --dry-run and --give-back.');
      // The tool is needed once, if ever.
      const tool = await import('../../../tools/import-bullmq/index.js');
      await cli.open(async (queues) =>
        cli.openOther(queues, from, async (connection) => {
          const queue = new tool.BullmqQueue(connection, fromPrefix, queueName);
          await assertQueue(queue, queueName, fromPrefix, connection.address);
          if (giveBack) await giveBackAll(cli, queue, queueName);
          const { broker, producer, backend, redis } = queues;
          const goal = new tool.ImportGoal({
            broker,
            producer,
            clock: backend.clock,
            timeout: queues.options.publishTimeout,
          });
          const place = `under the prefix '${cli.prefix}' of ${addressOfClient(redis as RedisClient)}`;
          const jobs = new tool.BullmqImport({ queue, goal, topic, place });
          const work = cli.interruptible(async (signal) =>
            importJobs({ cli, queues, queueName, queue, jobs, signal }, options),
          );
          await work.catch((error: unknown) => {
            throw error instanceof tool.OtherDestinationError ? unfinished(error) : error;
          });
        }),
      );
    });
};

/** @throws CliError if it was not confirmed */
async function giveBackAll(cli: Cli, queue: BullmqQueue, queueName: string): Promise<void> {
  const { destination, notes } = await queue.taken();
  if (notes.size === 0) return;
  await cli.confirm({
    type: queueName,
    called: 'the name of the queue',
    what:
      `This gives ${shownCount(notes.size, 'job')} back to BullMQ that an import has taken to ${shown(destination ?? 'an unknown place')}. ` +
      `What has got there is handled twice, unless that place is gone.`,
    hasDryRun: false,
  });
  await queue.giveBack([...notes].map(([id, text]) => ({ job: { id }, note: { text } })));
}

interface Import {
  readonly cli: Cli;
  readonly queues: Queues;
  readonly queueName: string;
  readonly queue: BullmqQueue;
  readonly jobs: BullmqImport;
  readonly signal: AbortSignal;
}

/** Counts jobs, and then moves those that were counted. */
async function importJobs(
  { cli, queues, queueName, queue, jobs, signal }: Import,
  { create = false, dryRun = false }: { readonly create?: boolean | undefined; readonly dryRun?: boolean | undefined },
): Promise<void> {
  const counting = new Progress(cli.terminal, cli.notePaint, 'counted');
  const onProgress = (done: number): void => counting.update(done);
  const planned = await jobs.count({ signal, onProgress }, dryRun).finally(() => counting.end());
  if (signal.aborted) throw interrupted('Nothing was changed.');
  if (!create && !dryRun) for (const topic of planned.topics.keys()) await cli.assertKnown(queues, topic);
  const moved = dryRun ? undefined : await move(cli, jobs, planned, signal);
  const remaining = await queue.counts();
  const result = { queue: queueName, planned, moved, remaining, aborted: signal.aborted };
  if (moved && moved.left.length > 0) cli.exitCode = EXIT.no;
  cli.print(importDocument(result), () => importLines(result, cli));
  if (signal.aborted) throw interrupted('Run it again to move the rest.');
}

/** @throws CliError */
async function assertQueue(queue: BullmqQueue, name: string, prefix: string, address: string): Promise<void> {
  const version = await queue.version();
  if (version === undefined) {
    throw notFound(`BullMQ has no queue '${shown(name)}' under the prefix '${shown(prefix)}' in Redis at ${address}.`);
  }
  if (!version.isKnown) {
    throw usageError(
      `The queue '${shown(name)}' is of ${shown(version.name)}, whose keys are not known here. Nothing was changed.`,
    );
  }
}

async function move(cli: Cli, jobs: BullmqImport, planned: ImportCounts, signal: AbortSignal): Promise<ImportCounts> {
  const progress = new Progress(cli.terminal, cli.notePaint, 'moved', planned.moved);
  const onProgress = (done: number): void => progress.update(done);
  return jobs.move(new Set(planned.topics.keys()), { signal, onProgress }).finally(() => progress.end());
}

function unfinished({ destination }: OtherDestinationError): CliError {
  return usageError(
    `Another import has taken jobs of this queue to ${shown(destination)}, and did not come to its end. Run that one ` +
      `again first. If that place is gone, give the jobs back to BullMQ with --give-back.`,
  );
}

/** Result of an import, or of its dry run. */
interface ImportResult {
  readonly queue: string;
  readonly planned: ImportCounts;
  /** `undefined`: it was a dry run. */
  readonly moved: ImportCounts | undefined;
  readonly remaining: BullmqCounts;
  readonly aborted: boolean;
}

function importDocument({ queue, planned, moved, remaining, aborted }: ImportResult): object {
  const { topics, left } = moved ?? planned;
  return {
    queue,
    counted: countedOf(planned),
    moved: moved ? moved.moved : 0,
    topics: Object.fromEntries(topics),
    left,
    remaining,
    dryRun: !moved,
    aborted,
  };
}

export function importLines({ planned, moved, remaining }: ImportResult, cli: Pick<Cli, 'paint' | 'width'>): string[] {
  const { left } = moved ?? planned;
  // Jobs that neither moved nor stay were gone when their turn came, or came later.
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
  return each.length > 1 ? `${shownNumber(counts.moved)}: ${each.join(', ')}` : (each[0] ?? '0');
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
  return counts.moved + leftOf(counts);
}
