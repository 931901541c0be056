import { type AddCommand, ID, KEY, TOPIC } from '../command.js';
import { messageName } from '../given-values.js';
import { example } from '../program.js';
import { shown } from '../text.js';

const TOLD = {
  cancelled: 'is cancelled',
  'in-flight': 'is being handled: its signal is aborted, and it is not retried',
} as const;

export const cancel: AddCommand = (program, cli) => {
  program
    .command('cancel')
    .summary('cancel a message')
    .description('Cancels a message. If it is being handled, its signal is aborted and no retry follows.')
    .argument(...TOPIC)
    .argument(...ID)
    .option(...KEY)
    .addHelpText('after', example('cancel order.timeout 42'))
    .action(async (topic, id, { key }) =>
      cli.open(async (queues) => {
        const result = await queues.admin.cancel(topic, messageName(id, key), { actor: cli.actor });
        if (result !== 'not-found') {
          cli.print({ topic, id, result }, () => [`Message '${shown(id)}' ${TOLD[result]}.`]);
          return;
        }
        await cli.assertKnown(queues, topic);
        cli.refuse({ topic, id, result }, `Topic '${topic}' has no message '${shown(id)}' that could be cancelled.`);
      }),
    );
};
