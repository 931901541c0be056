import { type RedisClient, addressOfClient } from '../../engines/redis/connection/redis-clients.js';
import { BullmqImport, OtherDestinationError } from '../../bullmq/bullmq-import.js';
import { BullmqQueue, isKnownVersion } from '../../bullmq/bullmq-queue.js';
import { type ImportCounts, movedOf } from '../../bullmq/import-counts.js';
import { ImportGoal } from '../../bullmq/import-goal.js';
import { interrupted } from '../bulk.js';
import type { Cli, Queues } from '../cli.js';
import { notFound, usageError } from '../cli-error.js';
import type { AddCommand } from '../command.js';
import { EXIT } from '../exit-codes.js';
import { importDocument, importLines } from '../import-lines.js';
import { example } from '../program.js';
import { Progress } from '../progress.js';
import { shown, shownCount } from '../text.js';

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
      await cli.open(async (queues) =>
        cli.openOther(queues, from, async (connection) => {
          const queue = new BullmqQueue(connection, fromPrefix, queueName);
          await assertQueue(queue, queueName, fromPrefix, connection.address);
          if (giveBack) await giveBackAll(cli, queue, queueName);
          const { redis } = queues;
          const place = `under the prefix '${cli.prefix}' of ${addressOfClient(redis as RedisClient)}`;
          const jobs = new BullmqImport({ queue, goal: goalOf(queues), topic, place });
          await cli.interruptible(async (signal) =>
            importJobs({ cli, queues, queueName, queue, jobs, signal }, options),
          );
        }),
      );
    });
};

function goalOf({ broker, producer, backend, options }: Queues): ImportGoal {
  return new ImportGoal({ broker, producer, clock: backend.clock, timeout: options.publishTimeout });
}

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

/** Counts, and then moves what was counted. */
async function importJobs(
  { cli, queues, queueName, queue, jobs, signal }: Import,
  { create = false, dryRun = false }: { readonly create?: boolean | undefined; readonly dryRun?: boolean | undefined },
): Promise<void> {
  const counting = new Progress(cli.terminal, cli.notePaint, 'counted');
  const onProgress = (done: number): void => counting.update(done);
  const planned = await ending(jobs.count({ signal, onProgress }, dryRun)).finally(() => counting.end());
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
  if (!isKnownVersion(version)) {
    throw usageError(
      `The queue '${shown(name)}' is of ${shown(version)}, whose keys are not known here. Nothing was changed.`,
    );
  }
}

async function move(cli: Cli, jobs: BullmqImport, planned: ImportCounts, signal: AbortSignal): Promise<ImportCounts> {
  const progress = new Progress(cli.terminal, cli.notePaint, 'moved', movedOf(planned));
  const onProgress = (done: number): void => progress.update(done);
  return ending(jobs.move(new Set(planned.topics.keys()), { signal, onProgress })).finally(() => progress.end());
}

/** @throws CliError if another import has to come to its end first */
async function ending(work: Promise<ImportCounts>): Promise<ImportCounts> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof OtherDestinationError)) throw error;
    throw usageError(
      `Another import has taken jobs of this queue to ${shown(error.destination)}, and did not come to its end. Run that one ` +
        `again first. If that place is gone, give the jobs back to BullMQ with --give-back.`,
    );
  }
}
