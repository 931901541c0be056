import type { FleetReceiver, PartitionStatus, TopicStats } from '../../admin/index.js';
import type { Cli, Queues } from '../cli.js';
import type { AddCommand } from '../command.js';
import { EXIT } from '../exit-codes.js';
import { countAll, nextCommand, overviewColumns, overviewDocument } from '../overview.js';
import { example } from '../program.js';
import { receiverColumns } from '../receiver-columns.js';
import { type Column, pairs, table } from '../table.js';
import { shownCount, shownNumber } from '../text.js';
import { relative, shownTime } from '../times.js';

export const stats: AddCommand = (program, cli) => {
  program
    .command('stats')
    .summary('count what a topic holds, or all topics')
    .description(
      'Counts what a topic holds, in sum and by partition, with the owners of its partitions. Without a topic: a line for each topic.',
    )
    .argument('[topic]', 'name of the topic')
    .addHelpText('after', example('stats order.timeout', 'stats --json'))
    .action(async (topic) =>
      cli.open(async (queues) => {
        if (topic === undefined) {
          const all = await countAll(queues.admin);
          if (all.length === 0) await cli.tellEmpty(queues);
          const now = queues.broker.now();
          if (all.some(({ stats: counted }) => counted && counted.unreachable.length > 0))
            cli.exitCode = EXIT.unavailable;
          cli.exitCode = all.find(({ error }) => error)?.error?.exitCode ?? cli.exitCode;
          cli.print({ topics: all.map(overviewDocument) }, () => table(overviewColumns(now, cli.paint), all, cli));
          await tellNext(
            cli,
            queues,
            all.flatMap(({ stats: counted }) => counted ?? []),
          );
          return;
        }
        const [counted, { receivers }] = await Promise.all([
          queues.admin.stats(topic),
          queues.admin.fleet({ topic, minutes: 0 }),
        ]);
        if (counted.partitions.length === 0) await cli.assertKnown(queues, topic);
        if (counted.unreachable.length > 0) cli.exitCode = EXIT.unavailable;
        cli.print({ ...counted, receivers }, () => linesOf(counted, receivers, queues.broker.now(), cli));
        await tellNext(cli, queues, [counted]);
      }),
    );
};

/** Names the command to continue with, if something is late or fails. */
async function tellNext(cli: Cli, { admin, broker }: Queues, counted: readonly TopicStats[]): Promise<void> {
  const command = cli.isJson ? undefined : await nextCommand(admin, counted, broker.now());
  if (command !== undefined) cli.note(`Next: npx nestjs-delay-queue ${command}`);
}

function linesOf(
  counted: TopicStats,
  receivers: readonly FleetReceiver[],
  now: number,
  { paint, width }: Cli,
): string[] {
  const { scheduled, due, blocked, blockedDue, inFlight, retrying, dead, paused, heldUntil } = counted;
  const { nextDueAt, oldestDueAt, oldestBlockedDueAt, counters, partitions, unreachable } = counted;
  const unowned = partitions.filter(({ owner }) => owner === undefined).length;
  const isReceived = receivers.some(({ state }) => state !== 'gone');
  const owned = unowned === 0 ? 'all owned' : paint(isReceived ? 'dim' : 'yellow', `${unowned} owned by nobody`);
  const happened = Object.entries(counters).map(([name, count]) => `${name} ${shownNumber(count)}`);
  const late = (count: number, oldest: Date | undefined): string =>
    count > 0 ? `${paint('yellow', shownNumber(count))}, the oldest one ${shownTime(oldest, now)}` : '0';
  const summary = pairs(
    [
      ['topic', counted.topic],
      ['partitions', `${partitions.length}, ${owned}`],
      ['unreachable', unreachable.length === 0 ? undefined : paint('red', `${unreachable.join(' ')}, not counted`)],
      ['paused', paused ? paint('yellow', 'yes') : 'no'],
      [
        'held',
        heldUntil && heldUntil.getTime() > now ? paint('yellow', `until ${shownTime(heldUntil, now)}`) : undefined,
      ],
      ['scheduled', `${shownNumber(scheduled)}, the next one due ${shownTime(nextDueAt, now)}`],
      ['due', late(due, oldestDueAt)],
      [
        'blocked',
        blocked > 0 ? `${shownNumber(blocked)}, of which are due ${late(blockedDue, oldestBlockedDueAt)}` : undefined,
      ],
      ['in flight', shownNumber(inFlight)],
      [
        'retrying',
        retrying > 0 ? paint('yellow', `${shownNumber(retrying)}, whose last attempt failed`) : shownNumber(retrying),
      ],
      ['dead', dead > 0 ? paint('red', shownCount(dead, 'dead letter')) : '0'],
      ['so far', happened.join(', ')],
    ],
    paint,
  );
  const told = receivers.length === 0 ? [] : ['', ...table(receiverColumns(now, paint), receivers, { paint, width })];
  return [...summary, ...told, '', ...table(partitionColumns(now), partitions, { paint, width })];
}

function partitionColumns(now: number): Column<PartitionStatus>[] {
  return [
    { title: 'PARTITION', cell: ({ partition }) => String(partition), align: 'right' },
    { title: 'SCHEDULED', cell: ({ scheduled }) => shownNumber(scheduled), align: 'right' },
    { title: 'DUE', cell: ({ due }) => shownNumber(due), align: 'right' },
    { title: 'IN FLIGHT', cell: ({ inFlight }) => shownNumber(inFlight), align: 'right' },
    { title: 'DEAD', cell: ({ dead }) => shownNumber(dead), align: 'right' },
    { title: 'NEXT DUE', cell: ({ nextDueAt }) => (nextDueAt ? relative(nextDueAt, now) : '-') },
    { title: 'OWNER', cell: ({ owner }) => owner ?? 'nobody' },
  ];
}
