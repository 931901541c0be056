import { type AddCommand, TOPIC } from '../command.js';
import { example } from '../program.js';

export const resume: AddCommand = (program, cli) => {
  program
    .command('resume')
    .summary('end a pause or a hold')
    .description('Ends a pause or a hold: what has fallen due meanwhile is handed out at once.')
    .argument(...TOPIC)
    .addHelpText('after', example('resume order.timeout'))
    .action(async (topic) =>
      cli.open(async (queues) => {
        await cli.assertKnown(queues, topic);
        await queues.admin.resume(topic, { actor: cli.actor });
        cli.print({ topic, paused: false }, () => [`Topic '${topic}' is neither paused nor held any more.`]);
      }),
    );
};
