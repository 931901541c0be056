import type { TopicCounters } from '../../admin/index.js';
import { setTimeout } from 'node:timers/promises';
import { oldestOverdueOf } from '../../admin/topic-stats.js';
import { BrokerUnavailableError } from '../../errors/operation.errors.js';
import { parseDuration } from '../../time/duration.js';
import type { Cli, Queues } from '../cli.js';
import type { AddCommand } from '../command.js';
import { toDuration, toNumber } from '../given-values.js';
import { type OverviewTopic, countAll, overviewColumns, overviewDocument } from '../overview.js';
import { example } from '../program.js';
import { type Column, table } from '../table.js';
import { shownCount } from '../text.js';

/** Counters that are shown as messages per second. */
const RATES = ['published', 'acked', 'retried', 'dead'] as const satisfies readonly (keyof TopicCounters)[];

type Rates = Readonly<Record<(typeof RATES)[number], number>>;

/** A topic at one look; rates cover the time since the look before, and are `undefined` at the first. */
interface Line extends OverviewTopic {
  readonly rates: Rates | undefined;
}

interface Look {
  readonly at: number;
  readonly topics: readonly OverviewTopic[];
}

export const top: AddCommand = (program, cli) => {
  program
    .command('top')
    .summary('watch all topics, the worst ones first')
    .description(
      'Counts all topics again and again, with messages a second between two looks; those with the oldest overdue message come ' +
        'first. ' +
        'Ctrl-C ends it. With --json: a line of JSON for each look.',
    )
    .option('--interval <duration>', 'time between two looks, at least 500 ms', toDuration, '2s')
    .option('--count <number>', 'stop after this many refreshes', toNumber)
    .addHelpText('after', example('top', 'top --interval 5s --count 2 --json'))
    .action(async ({ interval, count = Infinity }) => {
      const period = parseDuration('interval', interval, { min: 500, max: 3_600_000 });
      await cli.open(async (queues) =>
        cli.interruptible(async (ended) => watch(cli, queues, { period, count, ended })),
      );
    });
};

async function watch(
  cli: Cli,
  queues: Queues,
  { period, count, ended }: { readonly period: number; readonly count: number; readonly ended: AbortSignal },
): Promise<void> {
  let before: Look | undefined;
  for (let looks = 1; ; looks++) {
    try {
      const look: Look = { at: queues.broker.now(), topics: await countAll(queues.admin) };
      show(cli, look, before);
      if (look.topics.length === 0 && !before) await cli.tellEmpty(queues);
      before = look;
    } catch (error) {
      // A command that has watched for a while continues when Redis is back.
      if (!before || !(error instanceof BrokerUnavailableError) || !error.transient) throw error;
      cli.note(error.message);
    }
    if (looks >= count) return;
    await setTimeout(period, undefined, { signal: ended }).catch(() => {});
    if (ended.aborted) return;
  }
}

function show(cli: Cli, { at, topics }: Look, before: Look | undefined): void {
  const lines = topics.map((topic) => ({ ...topic, rates: ratesOf(topic, at, before) })).toSorted(byTrouble);
  cli.print({ at: new Date(at), topics: lines.map(documentOf) }, () => {
    const { isTTY, rows } = cli.terminal.stdout;
    const head = cli.paint('bold', `${new Date(at).toISOString()}  ${shownCount(lines.length, 'topic')}`);
    // Only as many as fit: a terminal that scrolls shows the last ones.
    const fitting = isTTY ? lines.slice(0, Math.max(1, rows - 3)) : lines;
    if (isTTY) cli.terminal.stdout.write(CLEAR);
    return [head, ...table(columns(cli, at), fitting, cli)];
  });
}

/** Moves the cursor home and clears the screen. */
const CLEAR = '\u001B[H\u001B[2J';

function columns(cli: Cli, now: number): Column<Line>[] {
  const rates = RATES.map((name): Column<Line> => ({
    title: `${name.toUpperCase()}/S`,
    cell: ({ rates: known }) => (known ? known[name].toFixed(1) : '-'),
    align: 'right',
  }));
  const counts = overviewColumns(now, cli.paint);
  return [...counts.slice(0, -1), ...rates, ...counts.slice(-1)];
}

/** Returns the rates. The counters are in Redis, so they include messages that others count in the meantime. */
function ratesOf({ topic, stats }: OverviewTopic, at: number, before: Look | undefined): Rates | undefined {
  const earlier = before?.topics.find((known) => known.topic === topic)?.stats;
  if (!stats || !before || !earlier || at <= before.at) return undefined;
  const rate = (name: keyof TopicCounters): number =>
    Math.max(0, ((stats.counters[name] - earlier.counters[name]) / (at - before.at)) * 1000);
  return { published: rate('published'), acked: rate('acked'), retried: rate('retried'), dead: rate('dead') };
}

/** Sorts topics that cannot be counted first, then those with the oldest overdue message, then those with most dead letters. */
function byTrouble(a: Line, b: Line): number {
  const [since, other] = [overdueSince(a), overdueSince(b)];
  if (since !== other) return since - other;
  const [first, second] = [a.stats, b.stats];
  if (first && second && first.dead !== second.dead) return second.dead - first.dead;
  if (first && second && first.scheduled !== second.scheduled) return second.scheduled - first.scheduled;
  return a.topic < b.topic ? -1 : 1;
}

function overdueSince({ stats }: Line): number {
  return stats ? (oldestOverdueOf(stats)?.getTime() ?? Infinity) : -Infinity;
}

function documentOf(line: Line): object {
  const { stats, receivers, rates } = line;
  if (!stats) return overviewDocument(line);
  const { partitions, ...counts } = stats;
  return { ...counts, receivers, owned: partitions.filter(({ owner }) => owner !== undefined).length, rates };
}
