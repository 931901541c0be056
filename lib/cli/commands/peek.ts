import type { PeekPage, PeekState } from '../../admin/index.js';
import { Option } from '@commander-js/extra-typings';
import { PEEK_STATES } from '../../admin/peek.js';
import type { Cli, Queues } from '../cli.js';
import { type AddCommand, TOPIC } from '../command.js';
import { toNumber } from '../given-values.js';
import { messageColumns } from '../message-lines.js';
import { example } from '../program.js';
import { table } from '../table.js';
import { shown } from '../text.js';

export const peek: AddCommand = (program, cli) => {
  program
    .command('peek')
    .summary('list the messages of a topic')
    .description('Lists messages of one state, a page at a time and in order, over all partitions.')
    .argument(...TOPIC)
    .addOption(new Option('--state <state>', 'which messages').choices(PEEK_STATES).default('scheduled' as const))
    .option('--tag <tag>', 'only those that carry this tag, in order of their ids; not of finished ones')
    .option('--limit <number>', 'most messages, 1 to 200', toNumber, 50)
    .option('--cursor <cursor>', 'goes on after the page that ended with it')
    .addHelpText('after', example('peek order.timeout --state due --limit 10', 'peek order.timeout --tag customer:7'))
    .action(async (topic, { state, tag, limit, cursor }) =>
      cli.open(async (queues) => {
        const page = await queues.admin.peek(topic, state, { tag, limit, cursor });
        await printPage(cli, queues, { topic, state, tag, page });
      }),
    );
};

interface PrintedPage {
  readonly topic: string;
  readonly state: PeekState;
  /** Tag that all messages of the list carry, if that was requested. */
  readonly tag?: string | undefined;
  readonly page: PeekPage;
}

/** Prints a page of a list of messages. */
export async function printPage(cli: Cli, queues: Queues, { topic, state, tag, page }: PrintedPage): Promise<void> {
  const { messages, cursor } = page;
  if (messages.length === 0) await cli.assertKnown(queues, topic);
  cli.print({ topic, state, messages, cursor }, () => {
    if (messages.length === 0) return [];
    const columns = messageColumns(state === 'due' ? 'scheduled' : state, messages, queues.broker.now());
    return table(columns, messages, cli);
  });
  if (cli.isJson) return;
  // An empty page says nothing about those after it.
  if (cursor !== undefined) cli.note(`There ${messages.length === 0 ? 'may be' : 'are'} more: --cursor ${cursor}`);
  else if (messages.length === 0) {
    const tagged = tag === undefined ? '' : ` and has the tag '${shown(tag)}'`;
    cli.note(`Topic '${topic}' has no message that is ${state}${tagged}.`);
  }
}
