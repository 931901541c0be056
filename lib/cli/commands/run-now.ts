import { printChange } from '../change-message.js';
import { type AddCommand, ID, KEY, TOPIC } from '../command.js';
import { messageName } from '../given-values.js';
import { example } from '../program.js';

export const runNow: AddCommand = (program, cli) => {
  program
    .command('run-now')
    .summary('make a message that waits due now')
    .description('Makes a message that waits due now. One that is due already keeps its place before others.')
    .argument(...TOPIC)
    .argument(...ID)
    .option(...KEY)
    .addHelpText('after', example('run-now order.timeout 42'))
    .action(async (topic, id, { key }) =>
      cli.open(async (queues) => {
        const changed = await queues.admin.runNow(topic, messageName(id, key), { actor: cli.actor });
        await printChange(cli, queues, { topic, id, property: 'due', changed });
      }),
    );
};
