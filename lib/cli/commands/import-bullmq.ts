import { type RedisClient, addressOfClient } from '../../broker/redis/redis-clients.js';
import type { RedisConnection } from '../../broker/redis/redis-connection.js';
import { didYouMean } from '../../checks/nearest.js';
import { assertName } from '../../messages/topic.js';
import { withBullConnection } from '../bullmq-import/bull-connection.js';
import { BullImport } from '../bullmq-import/bull-import.js';
import { type BullList, BullQueue } from '../bullmq-import/bull-queue.js';
import { type ImportReport, isComplete, linesOf } from '../bullmq-import/import-report.js';
import { ImportSession, type ImportTotals } from '../bullmq-import/import-session.js';
import type { Routes } from '../bullmq-import/job-message.js';
import { Releaser } from '../bullmq-import/releaser.js';
import { jobSchedulersOf } from '../bullmq-import/job-schedulers.js';
import { knownQueues } from '../bullmq-import/known-queues.js';
import type { Cli, Queues } from '../cli.js';
import { CliError, notFound, usageError } from '../cli-error.js';
import type { AddCommand } from '../command.js';
import { EXIT } from '../exit-codes.js';
import { toNumber, toTopics } from '../given-values.js';
import { example } from '../program.js';
import { Progress } from '../progress.js';
import { readRedis } from '../redis-option.js';
import { shown, shownCount } from '../text.js';

interface Given {
  readonly name: string;
  readonly to: string;
  readonly job: ReadonlyMap<string, string>;
  readonly from?: string | undefined;
  readonly bullPrefix: string;
  readonly waiting: boolean;
  readonly rate?: number | undefined;
  readonly create: boolean;
  readonly moved: boolean;
  readonly dryRun: boolean;
}

export const importBullmq: AddCommand = (program, cli) => {
  program
    .command('import-bullmq')
    .summary('move the delayed jobs of a BullMQ queue into a topic')
    .description(
      'Moves the delayed jobs of a queue of BullMQ (or Bull 4) into a topic: each runs once, at its time, although workers and ' +
        'handlers go on meanwhile. If it is interrupted or killed, run it again. It asks first.',
    )
    .argument('<queue>', 'name of the queue')
    .requiredOption('--to <topic>', 'topic of the messages')
    .option('--job <name=topic>', 'topic of the jobs with this name; may be given several times', toTopics)
    .option('--from <redis>', 'the Redis of BullMQ, in the forms of --redis; default: that of --redis')
    .option('--bull-prefix <prefix>', "BullMQ's option 'prefix'", 'bull')
    .option('--waiting', 'also the jobs that wait or are prioritized; they are due at once')
    .option('--rate <number>', 'most jobs a second; without it as fast as it goes', toNumber)
    .option('--create', 'make topics that were never used')
    .option('--moved', 'go on with an import although the address of --redis is another one by now')
    .option('--dry-run', 'count them, and change nothing')
    .addHelpText('after', example('import-bullmq orders --to order.timeout --dry-run'))
    .action(async (name, given) => {
      const { waiting = false, create = false, moved = false, dryRun = false, job = new Map<string, string>() } = given;
      assertGiven({ ...given, job });
      const settings = given.from === undefined ? cli.connectionOptions.redis : readRedis(given.from, '--from');
      await cli.open(async (queues) =>
        withBullConnection(settings ?? 'redis://127.0.0.1:6379', cli.sideOptions, async (connection) =>
          runImport(cli, queues, connection, { ...given, name, waiting, create, moved, dryRun, job }),
        ),
      );
    });
};

async function runImport(cli: Cli, queues: Queues, connection: RedisConnection, given: Given): Promise<void> {
  const { name, to: topic, job: byName, bullPrefix, dryRun } = given;
  const queue = new BullQueue(connection, bullPrefix, name);
  if (!(await queue.isKnown())) {
    const queueNames = await knownQueues(connection, bullPrefix);
    throw notFound(
      `There is no queue '${shown(name)}' under the prefix '${shown(bullPrefix)}'.${didYouMean(name, queueNames)}`,
    );
  }
  const routes: Routes = { queue: name, topic, byName };
  if (!given.create) await assertTopics(queues, [topic, ...byName.values()]);
  const parts = { cli, queues, queue, routes, given };
  await cli.interruptible(async (signal) => {
    const report = await (dryRun ? look(parts, signal) : move(parts, signal));
    cli.print(report, () => linesOf(report, cli.paint));
    if (signal.aborted) throw new CliError(EXIT.interrupted, 'INTERRUPTED', interruptedText(report));
    if (!dryRun && (!report.complete || report.refused.length > 0)) cli.exitCode = EXIT.no;
  });
}

interface Parts {
  readonly cli: Cli;
  readonly queues: Queues;
  readonly queue: BullQueue;
  readonly routes: Routes;
  readonly given: Given;
}

/** Counts what would be moved. */
async function look(parts: Parts, signal: AbortSignal): Promise<ImportReport> {
  const { cli, queue } = parts;
  const counted = importOf(
    parts,
    new ImportSession(queue),
    signal,
    new Progress(cli.terminal, cli.notePaint, 'counted'),
  );
  for (const list of listsOf(parts)) await counted.job.look(list);
  counted.end();
  return reportOf(parts, counted.job, NOTHING, signal);
}

async function move(parts: Parts, signal: AbortSignal): Promise<ImportReport> {
  const { cli, queue, queues, routes, given } = parts;
  const { delayed, waiting, open } = await queue.counts();
  const jobs = delayed + open + (given.waiting ? waiting : 0);
  await cli.confirm(
    queue.name,
    `This takes about ${shownCount(jobs, 'job')} out of BullMQ's queue '${shown(queue.name)}' and publishes them to topic '${routes.topic}'.`,
    { kind: 'queue', hasDryRun: true },
  );
  const session = new ImportSession(queue);
  const target = `${addressOfClient(queues.redis as RedisClient)}, prefix '${cli.prefix}'`;
  await session.begin({ routes, target }, given.moved, () =>
    cli.note('Another import of this queue is at work, or was killed a moment ago. Waiting for it …'),
  );
  const moved = importOf(parts, session, signal, new Progress(cli.terminal, cli.notePaint, 'moved', jobs));
  try {
    await moved.job.resume();
    for (const list of listsOf(parts)) await moved.job.move(list);
    return await reportOf(parts, moved.job, await session.totals(), signal);
  } finally {
    moved.end();
    await session.end();
  }
}

function importOf(
  { cli, queue, queues, routes, given: { rate } }: Parts,
  { token, parkedUntil }: ImportSession,
  signal: AbortSignal,
  progress: Progress,
): { job: BullImport; end: () => void } {
  let done = 0;
  const { producer, admin, broker } = queues;
  const releaser = new Releaser(broker, cli.sideOptions.timeout);
  const onProgress = (jobs: number): void => progress.update((done += jobs));
  const job = new BullImport({
    queue,
    producer,
    admin,
    releaser,
    routes,
    token,
    parkedUntil,
    rate,
    signal,
    onProgress,
  });
  return { job, end: () => progress.end() };
}

async function reportOf(
  { queue, routes, given: { dryRun } }: Parts,
  { met: { verdicts, dropped, refused, resumed } }: BullImport,
  total: ImportTotals,
  signal: AbortSignal,
): Promise<ImportReport> {
  const left = await queue.counts();
  return {
    queue: queue.name,
    topic: routes.topic,
    dryRun,
    aborted: signal.aborted,
    matched: verdicts.taken,
    resumed: dryRun ? left.open : resumed,
    total,
    complete: isComplete(total, left.open),
    kept: { flows: verdicts.flow, repeated: verdicts.repeated, large: verdicts.large },
    refused,
    dropped,
    left,
    schedulers: await jobSchedulersOf(queue, routes),
  };
}

const NOTHING: ImportTotals = { taken: 0, published: 0, duplicates: 0, returned: 0, lost: 0 };

function listsOf({ given: { waiting } }: Parts): readonly BullList[] {
  return waiting ? ['wait', 'paused', 'prioritized', 'delayed'] : ['delayed'];
}

/** @throws CliError, InvalidArgumentError */
function assertGiven({ to, job, rate }: Pick<Given, 'to' | 'job' | 'rate'>): void {
  for (const topic of [to, ...job.values()]) assertName('A topic', topic);
  if (rate !== undefined && !(rate > 0)) throw usageError(`--rate must be a number greater than 0. Given: ${rate}.`);
}

/** @throws CliError if a topic was never used: 100,000 messages of a typing error are hard to get back */
async function assertTopics({ admin }: Queues, names: readonly string[]): Promise<void> {
  const topics = await admin.topics();
  const unknown = names.find((name) => !topics.includes(name));
  if (unknown === undefined) return;
  throw notFound(
    `Topic '${shown(unknown)}' was never used.${didYouMean(unknown, topics)} Deploy the application that handles it first, or give ` +
      `--create. Nothing was moved.`,
  );
}

function interruptedText({ dryRun, left }: ImportReport): string {
  const rest = `${shownCount(left.delayed, 'delayed job')} are still in BullMQ`;
  return `It was interrupted. ${dryRun ? 'Nothing was changed.' : `${rest}: run it again to go on.`}`;
}
