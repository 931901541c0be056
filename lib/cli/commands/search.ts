import { Option } from '@commander-js/extra-typings';
import type { MessageDetails } from '../../admin/index.js';
import { interrupted } from '../bulk.js';
import type { AddCommand } from '../command.js';
import { toNumber } from '../given-values.js';
import { filterCommand, filterOf } from '../filters.js';
import { foundColumns } from '../message-lines.js';
import { example } from '../program.js';
import { Progress } from '../progress.js';
import { table } from '../table.js';
import { shownNumber } from '../text.js';

const STATES = ['scheduled', 'in-flight', 'dead', 'finished'] as const satisfies readonly MessageDetails['state'][];

/** Most messages that one call of the admin finds. */
const MOST_FOUND = 200;

export const search: AddCommand = (program, cli) => {
  filterCommand(program, 'search')
    .summary('look for messages by what is in them')
    .description(
      'Looks for the messages that fit all filters, one state after the other. It looks at one message after the other, so it may take a ' +
        'while; Ctrl-C ends it with what was found.',
    )
    .addOption(
      new Option('--state <state...>', 'in which states (default: scheduled, in-flight, dead)').choices(STATES),
    )
    .option('--limit <number>', 'most messages that are found', toNumber, 50)
    .option('--cursor <cursor>', 'goes on behind the search that ended with it')
    .addHelpText(
      'after',
      example('search order.timeout --field customer.id=7', 'search order.timeout --text refused --state dead'),
    )
    .action(async (topic, { state: states, limit, cursor: start, ...given }) => {
      const filter = filterOf(given);
      await cli.open(async (queues) =>
        cli.interruptible(async (signal) => {
          const progress = new Progress(cli.terminal, cli.notePaint, 'looked at');
          const messages: MessageDetails[] = [];
          let [read, cursor] = [0, start];
          try {
            do {
              const most = Math.min(MOST_FOUND, limit - messages.length);
              const page = await queues.admin.search(topic, filter, { states, limit: most, cursor, signal });
              messages.push(...page.messages);
              read += page.read;
              cursor = page.cursor;
              progress.update(read);
            } while (cursor !== undefined && messages.length < limit && !signal.aborted);
          } finally {
            progress.end();
          }
          if (read === 0 && !signal.aborted) await cli.assertKnown(queues, topic);
          if (!cli.isJson) cli.note(`${shownNumber(messages.length)} of ${shownNumber(read)} messages fit.`);
          cli.print({ topic, messages, read, cursor }, () =>
            messages.length === 0 ? [] : table(foundColumns(messages, queues.broker.now()), messages, cli),
          );
          if (!cli.isJson && cursor !== undefined) cli.note(`There are more to look at: --cursor ${cursor}`);
          if (signal.aborted) throw interrupted('What was found by then is shown.');
        }),
      );
    });
};
