import { printChange } from '../change-message.js';
import { type AddCommand, ID, KEY, TOPIC } from '../command.js';
import { messageRef, readJson } from '../given-values.js';
import { example } from '../program.js';

export const edit: AddCommand = (program, cli) => {
  program
    .command('edit')
    .summary('give a message that waits another payload')
    .description(
      'Gives a message that waits another payload. Its due time, headers, options and attempts stay as they are.',
    )
    .argument(...TOPIC)
    .argument(...ID)
    .argument('<payload>', 'JSON, @file, or - for the standard input')
    .option(...KEY)
    .addHelpText('after', example(`edit order.timeout 42 '{"orderId":"42","currency":"EUR"}'`))
    .action(async (topic, id, text, { key }) => {
      const payload = await readJson(cli.terminal, 'The payload', text, 'payload');
      await cli.open(async (queues) => {
        const result = await queues.admin.edit(topic, messageRef(id, key), payload, { actor: cli.actor });
        await printChange(cli, queues, { topic, id, done: 'edited', result });
      });
    });
};
