import { notFound } from '../cli-error.js';
import { type AddCommand, ID, KEY, TOPIC } from '../command.js';
import { messageRef } from '../given-values.js';
import { messageLines } from '../message-lines.js';
import { example } from '../program.js';
import { shown } from '../text.js';

export const get: AddCommand = (program, cli) => {
  program
    .command('get')
    .summary('show a message with all that is known of it')
    .description(
      'Shows a message: its state, payload, headers, tags, and the attempts that failed; also one that has ended and is kept.',
    )
    .argument(...TOPIC)
    .argument(...ID)
    .option(...KEY)
    .addHelpText('after', example('get order.timeout 42'))
    .action(async (topic, id, { key }) =>
      cli.open(async (queues) => {
        const message = await queues.admin.get(topic, messageRef(id, key));
        if (!message) {
          await cli.assertKnown(queues, topic);
          throw notFound(
            `Topic '${topic}' has no message with the id '${shown(id)}'. It may have been handled or cancelled.`,
          );
        }
        cli.print(message, () => messageLines(message, queues.broker.now(), cli.paint));
      }),
    );
};
