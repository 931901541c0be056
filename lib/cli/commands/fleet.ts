import type { FleetProcess, FleetTopic, ProcessTopic, WorkMinute } from '../../admin/index.js';
import type { Cli } from '../cli.js';
import type { AddCommand } from '../command.js';
import { toNumber } from '../given-values.js';
import { example } from '../program.js';
import { receiverColumns } from '../receiver-columns.js';
import { type Column, table } from '../table.js';
import { shown, shownCount, shownNumber } from '../text.js';
import { relative, shownDuration } from '../times.js';

export const fleet: AddCommand = (program, cli) => {
  program
    .command('fleet')
    .summary('list the processes that handle messages, and those who receive some')
    .description(
      'Lists the processes that handle messages, with their versions and clocks, how busy they are and what they own; those who receive ' +
        'messages; and what was done for each topic in the last minutes. It is up to 5 s old.',
    )
    .argument('[topic]', 'all processes, but only what they own and did of this topic')
    .option('--minutes <number>', 'how far back, 0 to 15', toNumber, 5)
    .addHelpText('after', example('fleet', 'fleet order.timeout --minutes 15'))
    .action(async (topic, { minutes }) =>
      cli.open(async (queues) => {
        const found = await queues.admin.fleet({ minutes, ...(topic !== undefined && { topic }) });
        if (topic !== undefined && found.topics.length === 0) await cli.assertKnown(queues, topic);
        const { at, processes, receivers, topics } = found;
        const now = at.getTime();
        if (processes.length + topics.length === 0) await cli.tellEmpty(queues);
        cli.print(found, () => [
          ...(processes.length === 0
            ? ['No process handles messages.']
            : table(processColumns(now, topic, cli), processes, cli)),
          ...(receivers.length === 0 ? [] : ['', ...table(receiverColumns(now, cli.paint), receivers, cli)]),
          ...(topics.length === 0 ? [] : ['', ...table(TOPIC_COLUMNS, topics, cli)]),
        ]);
      }),
    );
};

function processColumns(now: number, only: string | undefined, { paint }: Cli): Column<FleetProcess>[] {
  return [
    { title: 'PROCESS', cell: ({ process }) => shown(process) },
    { title: 'VERSION', cell: ({ version }) => shown(version ?? '-') },
    { title: 'STARTED', cell: ({ since }) => (since ? relative(since, now) : '-') },
    { title: 'HEARTBEAT', cell: ({ renewedAt }) => relative(renewedAt, now) },
    {
      title: 'BUSY',
      cell: ({ busy, concurrency }) => (busy === undefined ? '-' : `${busy} of ${concurrency}`),
      align: 'right',
      paint: (text, { waiting = 0 }) => (waiting > 0 ? paint('yellow', text) : text),
    },
    { title: 'WAITING', cell: ({ waiting }) => String(waiting ?? '-'), align: 'right' },
    {
      title: 'CLOCK',
      cell: ({ clockOffset }) => (clockOffset === undefined ? '-' : `${clockOffset} ms`),
      align: 'right',
    },
    { title: 'OWNS', cell: ({ topics }) => shown(ownedBy(topics, only)) },
  ];
}

/** Returns the number of partitions that it owns of each topic that it handles, or which ones of the only topic shown. */
function ownedBy(topics: readonly ProcessTopic[], only: string | undefined): string {
  const told = topics
    .filter(({ topic }) => only === undefined || topic === only)
    .map(({ topic, partitions }) => {
      const which = only === undefined || partitions.length === 0 ? '' : ` (${partitions.join(' ')})`;
      return `${topic}: ${shownCount(partitions.length, 'partition')}${which}`;
    });
  return told.join(', ') || '-';
}

const sum = (minutes: readonly WorkMinute[], value: (minute: WorkMinute) => number): number =>
  minutes.reduce((total, minute) => total + value(minute), 0);

const TOPIC_COLUMNS: readonly Column<FleetTopic>[] = [
  { title: 'TOPIC', cell: ({ topic }) => topic },
  ...(['delivered', 'acked', 'retried', 'dead'] as const).map((name): Column<FleetTopic> => ({
    title: name.toUpperCase(),
    cell: ({ minutes }) => shownNumber(sum(minutes, (minute) => minute[name])),
    align: 'right',
  })),
  { title: 'DELIVERED/S', cell: ({ minutes }) => rateOf(minutes), align: 'right' },
  { title: 'WORST P99', cell: ({ minutes }) => worstOf(minutes), align: 'right' },
];

function rateOf(minutes: readonly WorkMinute[]): string {
  const seconds = sum(minutes, (minute) => minute.seconds);
  return seconds === 0 ? '-' : (sum(minutes, ({ delivered }) => delivered) / seconds).toFixed(1);
}

/** Returns the p99 of the lateness in the worst minute. */
function worstOf(minutes: readonly WorkMinute[]): string {
  const told = minutes.flatMap(({ lateness }) => (lateness ? [lateness.p99] : []));
  return told.length === 0 ? '-' : `${shownDuration(Math.max(...told))} late`;
}
