import type { Agenda, AgendaBucket } from '../../admin/agenda.js';
import { parseDuration } from '../../time/duration.js';
import type { Cli } from '../cli.js';
import { usageError } from '../cli-error.js';
import type { AddCommand } from '../command.js';
import { TIME_FORMS, toNumber, toTime } from '../given-values.js';
import { example } from '../program.js';
import { table } from '../table.js';
import { shownNumber } from '../text.js';

const BAR = 40;

export const agenda: AddCommand = (program, cli) => {
  program
    .command('agenda')
    .summary('count what falls due when')
    .description(
      'Counts the messages that wait by the time when they are due, exactly; without a topic those of all topics.',
    )
    .argument('[topic]', 'name of the topic')
    .option('--from <time>', `where it begins, ${TIME_FORMS}; now by default`, toTime)
    .option('--to <time>', 'where it ends; an hour after its begin by default', toTime)
    .option('--span <duration>', 'instead of --to: how long it is')
    .option('--buckets <number>', 'into how many parts it is cut, 1 to 200', toNumber, 12)
    .addHelpText('after', example('agenda order.timeout --span 1d --buckets 24'))
    .action(async (topic, { from, to, span, buckets }) => {
      if (span !== undefined && to !== undefined) throw usageError('Give either --to or --span.');
      await cli.open(async (queues) => {
        const end = span === undefined ? to : (from ?? queues.broker.now()) + parseDuration('--span', span, { min: 1 });
        const range = { buckets, ...(from !== undefined && { from }), ...(end !== undefined && { to: end }) };
        const counted = await queues.admin.agenda(topic, range);
        if (topic !== undefined && counted.topics.length === 0) await cli.assertKnown(queues, topic);
        cli.print(counted, () => linesOf(counted, cli));
      });
    });
};

function linesOf({ buckets, scheduled, overdue, earlier, later }: Agenda, cli: Cli): string[] {
  const most = Math.max(1, ...buckets.map(({ count }) => count));
  const bar = ({ count }: AgendaBucket): string => '█'.repeat(Math.ceil((count / most) * BAR));
  const rows = table(
    [
      { title: 'FROM', cell: ({ from }) => from.toISOString() },
      { title: 'MESSAGES', cell: ({ count }) => shownNumber(count), align: 'right' },
      { title: '', cell: bar },
    ],
    buckets,
    cli,
  );
  return [
    ...rows,
    '',
    `${shownNumber(scheduled)} wait, ${shownNumber(overdue)} of them are overdue; ` +
      `${shownNumber(earlier)} before this time, ${shownNumber(later)} after it.`,
  ];
}
