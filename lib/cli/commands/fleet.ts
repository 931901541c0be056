import type { FleetProcess, FleetTopic, WorkMinute } from '../../admin/fleet.js';
import type { AddCommand } from '../command.js';
import { toNumber } from '../given-values.js';
import { example } from '../program.js';
import { type Column, table } from '../table.js';
import { shown, shownNumber } from '../text.js';
import { relative, shownDuration } from '../times.js';

export const fleet: AddCommand = (program, cli) => {
  program
    .command('fleet')
    .summary('list the processes that handle messages')
    .description(
      'Lists the processes that handle messages, what each owns and how busy it is, and what they did for each topic in the last minutes.',
    )
    .argument('[topic]', 'only what was done for this topic')
    .option('--minutes <number>', 'how far back, 0 to 15', toNumber, 5)
    .addHelpText('after', example('fleet', 'fleet order.timeout --minutes 15'))
    .action(async (topic, { minutes }) =>
      cli.open(async ({ admin }) => {
        const found = await admin.fleet({ minutes, ...(topic !== undefined && { topic }) });
        const { at, processes, topics } = found;
        cli.print(found, () => [
          ...(processes.length === 0
            ? ['No process handles messages.']
            : table(processColumns(at.getTime()), processes, cli)),
          ...(topics.length === 0 ? [] : ['', ...table(TOPIC_COLUMNS, topics, cli)]),
        ]);
      }),
    );
};

function processColumns(now: number): Column<FleetProcess>[] {
  return [
    { title: 'PROCESS', cell: ({ process }) => shown(process) },
    { title: 'VERSION', cell: ({ version }) => shown(version ?? '-') },
    { title: 'SINCE', cell: ({ since }) => (since ? relative(since, now) : '-') },
    { title: 'BUSY', cell: ({ busy, concurrency }) => `${busy ?? '-'}/${concurrency ?? '-'}`, align: 'right' },
    { title: 'WAITING', cell: ({ waiting }) => String(waiting ?? '-'), align: 'right' },
    {
      title: 'CLOCK',
      cell: ({ clockOffset }) => (clockOffset === undefined ? '-' : `${clockOffset} ms`),
      align: 'right',
    },
    {
      title: 'OWNS',
      cell: ({ topics }) => topics.map(({ topic, partitions }) => `${topic}: ${partitions.length}`).join(', ') || '-',
    },
  ];
}

const sum = (minutes: readonly WorkMinute[], value: (minute: WorkMinute) => number): number =>
  minutes.reduce((total, minute) => total + value(minute), 0);

const TOPIC_COLUMNS: readonly Column<FleetTopic>[] = [
  { title: 'TOPIC', cell: ({ topic }) => topic },
  {
    title: 'DELIVERED',
    cell: ({ minutes }) => shownNumber(sum(minutes, ({ delivered }) => delivered)),
    align: 'right',
  },
  { title: 'ACKED', cell: ({ minutes }) => shownNumber(sum(minutes, ({ acked }) => acked)), align: 'right' },
  { title: 'RETRIED', cell: ({ minutes }) => shownNumber(sum(minutes, ({ retried }) => retried)), align: 'right' },
  { title: 'DEAD', cell: ({ minutes }) => shownNumber(sum(minutes, ({ dead }) => dead)), align: 'right' },
  { title: 'A SECOND', cell: ({ minutes }) => rateOf(minutes), align: 'right' },
  { title: 'WORST P99', cell: ({ minutes }) => worstOf(minutes), align: 'right' },
];

function rateOf(minutes: readonly WorkMinute[]): string {
  const seconds = sum(minutes, (minute) => minute.seconds);
  return seconds === 0 ? '-' : shownNumber(Number((sum(minutes, ({ delivered }) => delivered) / seconds).toFixed(1)));
}

function worstOf(minutes: readonly WorkMinute[]): string {
  const told = minutes.flatMap(({ lateness }) => (lateness ? [lateness.p99] : []));
  return told.length === 0 ? '-' : shownDuration(Math.max(...told));
}
