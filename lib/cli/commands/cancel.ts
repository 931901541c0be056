import { runBulk } from '../bulk.js';
import type { AddCommand } from '../command.js';
import { chosenOf, manyCommand } from '../message-filter-options.js';
import { example } from '../program.js';
import { shown } from '../text.js';

const TOLD = {
  cancelled: 'is cancelled',
  'in-flight': 'is being handled: its signal is aborted, and it is not retried',
} as const;

export const cancel: AddCommand = (program, cli) => {
  manyCommand(program, 'cancel')
    .summary('cancel a message, or all that fit')
    .description(
      'Cancels a message; if it is being handled, its signal is aborted and no retry follows. Without an id it cancels those that wait and ' +
        'fit all filters, and asks first.',
    )
    .option('--in-flight', 'without an id: those that are being handled, too')
    .addHelpText('after', example('cancel order.timeout 42', 'cancel order.timeout --tag customer:7 --dry-run'))
    .action(async (topic, given, { inFlight, ...options }) => {
      const chosen = chosenOf(given, options, inFlight);
      await cli.open(async (queues) => {
        if (chosen.id === undefined) {
          await runBulk(cli, queues, {
            topic,
            singular: inFlight ? 'message' : 'waiting message',
            done: 'cancelled',
            dryRun: chosen.dryRun,
            destroys: 'cancels',
            call: (call) => queues.admin.cancel(topic, chosen.filter, { ...call, ...chosen.options, inFlight }),
          });
          return;
        }
        const { id, ref } = chosen;
        const result = await queues.admin.cancel(topic, ref, { actor: cli.actor });
        if (result !== 'not-found') {
          cli.print({ topic, id, result }, () => [`Message '${shown(id)}' ${TOLD[result]}.`]);
          return;
        }
        await cli.assertKnown(queues, topic);
        cli.refuse({ topic, id, result }, `Topic '${topic}' has no message '${shown(id)}' that could be cancelled.`);
      });
    });
};
