import type { Agenda, AgendaBucket, TopicAgenda } from '../../admin/index.js';
import { parseDuration } from '../../time/duration.js';
import type { Cli } from '../cli.js';
import { usageError } from '../cli-error.js';
import type { AddCommand } from '../command.js';
import { EXIT } from '../exit-codes.js';
import { toDuration, toNumber, toTime } from '../given-values.js';
import { TIME_FORMS } from '../../time/date.js';
import { example } from '../program.js';
import { type Column, table } from '../table.js';
import { shownNumber } from '../text.js';
import { relative } from '../times.js';

/** Most and fewest characters of a bar, and the width of the columns before it. */
const BAR = { most: 40, fewest: 10, before: 55 } as const;

export const agenda: AddCommand = (program, cli) => {
  program
    .command('agenda')
    .summary('count what falls due when')
    .description(
      'Counts the messages that wait by the time when they are due, exactly; without a topic those of all topics. What is in ' +
        'flight or dead does not wait.',
    )
    .argument('[topic]', 'name of the topic')
    .option('--from <time>', `where it begins, as ${TIME_FORMS}; default: now`, toTime)
    .option('--to <time>', 'where it ends; default: an hour after it begins', toTime)
    .option('--span <duration>', "instead of --to: how long it is, such as '1d'", toDuration)
    .option('--buckets <number>', 'into how many parts it is cut, 1 to 200', toNumber, 12)
    .addHelpText('after', example('agenda', 'agenda order.timeout --span 1d --buckets 24'))
    .action(async (topic, { from, to, span, buckets }) => {
      if (span !== undefined && to !== undefined) throw usageError('Give either --to or --span.');
      const length = span === undefined ? undefined : parseDuration('--span', span, { min: 1 });
      await cli.open(async (queues) => {
        const now = Math.floor(queues.broker.now());
        const begin = from ?? now;
        const end = length === undefined ? to : begin + length;
        const range = { buckets, from: begin, ...(end !== undefined && { to: end }) };
        const counted = await queues.admin.agenda(topic, range);
        if (topic !== undefined && counted.topics.length === 0) await cli.assertKnown(queues, topic);
        if (topic === undefined && counted.topics.length === 0) await cli.tellEmpty(queues);
        if (counted.unreachable.length > 0) cli.exitCode = EXIT.unavailable;
        cli.print(counted, () => linesOf(counted, now, cli));
      });
    });
};

function linesOf({ buckets, topics, unreachable, ...counts }: Agenda, now: number, cli: Cli): string[] {
  const { scheduled, overdue, earlier, later } = counts;
  return [
    `${shownNumber(scheduled)} wait, ${shownNumber(overdue)} of them overdue. ${shownNumber(earlier)} are due before ` +
      `these times, ${shownNumber(later)} after them.`,
    ...unreachable.map(({ topic, partitions }) =>
      cli.paint('red', `Not counted, since they do not answer: partitions ${partitions.join(' ')} of ${topic}.`),
    ),
    '',
    ...table(bucketColumns(buckets, now, cli), buckets, cli),
    ...(topics.length > 1 ? ['', ...table(TOPIC_COLUMNS, topics, cli)] : []),
  ];
}

function bucketColumns(buckets: readonly AgendaBucket[], now: number, { width, paint }: Cli): Column<AgendaBucket>[] {
  const most = Math.max(1, ...buckets.map(({ count }) => count));
  const longest = width === undefined ? BAR.most : Math.min(BAR.most, Math.max(BAR.fewest, width - BAR.before));
  const isNow = ({ from, to }: AgendaBucket): boolean => from.getTime() <= now && now < to.getTime();
  return [
    { title: 'FROM', cell: ({ from }) => from.toISOString() },
    { title: '', cell: (bucket) => (isNow(bucket) ? 'now' : relative(bucket.from, now)) },
    { title: 'MESSAGES', cell: ({ count }) => shownNumber(count), align: 'right' },
    // A count above zero is always visible.
    {
      title: '',
      cell: ({ count }) => '█'.repeat(Math.ceil((count / most) * longest)),
      paint: (text) => paint('green', text),
    },
  ];
}

const TOPIC_COLUMNS: readonly Column<TopicAgenda>[] = [
  { title: 'TOPIC', cell: ({ topic }) => topic },
  { title: 'SCHEDULED', cell: ({ scheduled }) => shownNumber(scheduled), align: 'right' },
  { title: 'OVERDUE', cell: ({ overdue }) => shownNumber(overdue), align: 'right' },
  {
    title: 'IN THESE TIMES',
    cell: ({ counts }) => shownNumber(counts.reduce((sum, count) => sum + count, 0)),
    align: 'right',
  },
];
