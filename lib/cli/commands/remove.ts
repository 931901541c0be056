import { runBulk } from '../bulk.js';
import type { AddCommand } from '../command.js';
import { deadLetterCommand, missingOf, selectionOf } from '../dead-letter-command.js';
import { example } from '../program.js';

export const remove: AddCommand = (program, cli) => {
  deadLetterCommand(program, 'remove')
    .summary('remove dead letters for good')
    .description('Removes dead letters for good: one by its id, those that a filter fits, or all. It asks first.')
    .addHelpText(
      'after',
      example('remove order.timeout --fingerprint 0123456789abcdef --dry-run', 'remove order.timeout --id 42 --yes'),
    )
    .action(async (topic, { rate, dryRun = false, ...given }) => {
      const which = selectionOf(given);
      await cli.open(async (queues) => {
        await runBulk(cli, queues, {
          topic,
          singular: 'dead letter',
          done: 'removed',
          dryRun,
          destroys: 'removes',
          call: (call) => queues.admin.remove(topic, which, { ...call, rate }),
          missing: missingOf(topic, given.id),
        });
      });
    });
};
