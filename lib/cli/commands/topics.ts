import type { AddCommand } from '../command.js';
import { example } from '../program.js';

export const topics: AddCommand = (program, cli) => {
  program
    .command('topics')
    .summary('list all topics')
    .description('Lists the topics that were ever used under the prefix, also those that have been empty for long.')
    .addHelpText('after', example('topics'))
    .action(async () => {
      await cli.open(async (queues) => {
        const names = await queues.admin.topics();
        cli.print({ topics: names }, () => names);
        if (names.length === 0) await cli.tellEmpty(queues);
      });
    });
};
