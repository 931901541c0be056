import type { DeadLetterGroup } from '../../admin/index.js';
import type { Cli, Queues } from '../cli.js';
import { type AddCommand, TOPIC } from '../command.js';
import { toNumber } from '../given-values.js';
import { example } from '../program.js';
import { whileTelling } from '../progress.js';
import { type Column, table } from '../table.js';
import { shown, shownCount, shownNumber } from '../text.js';
import { relative } from '../times.js';
import { printPage } from './peek.js';

export const dead: AddCommand = (program, cli) => {
  program
    .command('dead')
    .summary('list dead letters, or group them by cause')
    .description('Lists the dead letters of a topic, or groups them by what they died of, the largest group first.')
    .argument(...TOPIC)
    .option('--group', 'by cause, with a fingerprint that requeue and remove take')
    .option('--limit <number>', 'most dead letters of a page, 1 to 200', toNumber, 50)
    .option('--cursor <cursor>', 'goes on after the page that ended with it')
    .addHelpText('after', example('dead order.timeout --group'))
    .action(async (topic, { group, limit, cursor }) =>
      cli.open(async (queues) => {
        if (group) return printGroups(cli, queues, topic);
        const page = await queues.admin.peek(topic, 'dead', { limit, cursor });
        return printPage(cli, queues, { topic, state: 'dead', page });
      }),
    );
};

async function printGroups(cli: Cli, queues: Queues, topic: string): Promise<void> {
  const found = await whileTelling(cli.terminal, 'Reading dead letters', queues.admin.deadLetterGroups(topic));
  if (found.total === 0) await cli.assertKnown(queues, topic);
  const now = queues.broker.now();
  cli.print({ topic, ...found }, () => [
    `${shownCount(found.total, 'dead letter')} in ${shownCount(found.groups.length, 'group')}`,
    ...(found.groups.length > 0 ? ['', ...table(columns(now), found.groups, cli)] : []),
    ...(found.ungrouped > 0 ? ['', `${shownCount(found.ungrouped, 'dead letter')} in no group`] : []),
  ]);
}

function columns(now: number): Column<DeadLetterGroup>[] {
  return [
    { title: 'COUNT', cell: ({ count }) => shownNumber(count), align: 'right' },
    { title: 'FINGERPRINT', cell: ({ fingerprint }) => fingerprint },
    { title: 'FIRST', cell: ({ firstAt }) => relative(firstAt, now) },
    { title: 'LAST', cell: ({ lastAt }) => relative(lastAt, now) },
    { title: 'EXAMPLE', cell: ({ example: { id } }) => shown(id) },
    { title: 'CAUSE', cell: ({ reason, name, pattern }) => `${reason}: ${shown(`${name}: ${pattern}`)}` },
  ];
}
