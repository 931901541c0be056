import { Option } from '@commander-js/extra-typings';
import type { PeekPage, PeekState } from '../../admin/peek.js';
import type { Cli, Queues } from '../cli.js';
import { type AddCommand, TOPIC } from '../command.js';
import { toNumber } from '../given-values.js';
import { messageColumns } from '../message-lines.js';
import { example } from '../program.js';
import { table } from '../table.js';

const STATES = ['scheduled', 'due', 'in-flight', 'dead'] as const satisfies readonly PeekState[];

export const peek: AddCommand = (program, cli) => {
  program
    .command('peek')
    .summary('list the messages of a topic')
    .description('Lists messages of one state, a page at a time and in order, over all partitions.')
    .argument(...TOPIC)
    .addOption(new Option('--state <state>', 'which messages').choices(STATES).default('scheduled' as const))
    .option('--limit <number>', 'most messages, 1 to 200', toNumber, 50)
    .option('--cursor <cursor>', 'goes on behind the page that ended with it')
    .addHelpText('after', example('peek order.timeout --state due --limit 10'))
    .action(async (topic, { state, limit, cursor }) =>
      cli.open(async (queues) => {
        const page = await queues.admin.peek(topic, state, { limit, cursor });
        await printPage(cli, queues, { topic, state, page });
      }),
    );
};

/** Prints a page of a list of messages. */
export async function printPage(
  cli: Cli,
  queues: Queues,
  { topic, state, page }: { readonly topic: string; readonly state: PeekState; readonly page: PeekPage },
): Promise<void> {
  const { messages, cursor } = page;
  if (messages.length === 0) await cli.assertKnown(queues, topic);
  cli.print({ topic, state, messages, cursor }, () => {
    if (messages.length === 0) return [];
    const columns = messageColumns(state === 'due' ? 'scheduled' : state, queues.broker.now());
    return table(columns, messages, cli);
  });
  if (cli.isJson) return;
  if (messages.length === 0) cli.note(`Topic '${topic}' has no message that is ${state}.`);
  if (cursor !== undefined) cli.note(`There are more: --cursor ${cursor}`);
}
