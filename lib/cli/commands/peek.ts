import { Option } from '@commander-js/extra-typings';
import type { PeekPage, PeekState } from '../../admin/peek.js';
import type { Cli, Queues } from '../cli.js';
import { type AddCommand, TOPIC } from '../command.js';
import { toNumber } from '../given-values.js';
import { messageColumns } from '../message-lines.js';
import { example } from '../program.js';
import { table } from '../table.js';
import { shown } from '../text.js';

const STATES = ['scheduled', 'due', 'in-flight', 'dead', 'finished'] as const satisfies readonly PeekState[];

export const peek: AddCommand = (program, cli) => {
  program
    .command('peek')
    .summary('list the messages of a topic')
    .description('Lists messages of one state, a page at a time and in order, over all partitions.')
    .argument(...TOPIC)
    .addOption(new Option('--state <state>', 'which messages').choices(STATES).default('scheduled' as const))
    .option('--limit <number>', 'most messages, 1 to 200', toNumber, 50)
    .option('--tag <tag>', 'only those that carry this tag, in order of their ids')
    .option('--key <key>', 'only those of this key')
    .option('--cursor <cursor>', 'goes on behind the page that ended with it')
    .addHelpText('after', example('peek order.timeout --state due --limit 10'))
    .action(async (topic, { state, limit, tag, key, cursor }) =>
      cli.open(async (queues) => {
        const page = await queues.admin.peek(topic, state, { limit, tag, key, cursor });
        await printPage(cli, queues, { topic, state, page, filter: { tag, key } });
      }),
    );
};

interface PrintedPage {
  readonly topic: string;
  readonly state: PeekState;
  readonly page: PeekPage;
  /** What was asked for beside the state. */
  readonly filter?: Readonly<Record<string, string | undefined>>;
}

/** Prints a page of a list of messages. */
export async function printPage(
  cli: Cli,
  queues: Queues,
  { topic, state, page, filter = {} }: PrintedPage,
): Promise<void> {
  const { messages, cursor } = page;
  if (messages.length === 0) await cli.assertKnown(queues, topic);
  cli.print({ topic, state, messages, cursor }, () => {
    if (messages.length === 0) return [];
    const columns = messageColumns(state === 'due' ? 'scheduled' : state, queues.broker.now());
    return table(columns, messages, cli);
  });
  if (cli.isJson) return;
  // An empty page says nothing of those behind it.
  if (cursor !== undefined) cli.note(`There ${messages.length === 0 ? 'may be' : 'are'} more: --cursor ${cursor}`);
  else if (messages.length === 0) cli.note(`Topic '${topic}' has no message that is ${state}${shownFilter(filter)}.`);
}

function shownFilter(filter: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(filter).filter(([, value]) => value !== undefined);
  return given.map(([name, value]) => ` and has the ${name} '${shown(value ?? '')}'`).join('');
}
