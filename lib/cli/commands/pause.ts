import { type AddCommand, TOPIC } from '../command.js';
import { example } from '../program.js';

export const pause: AddCommand = (program, cli) => {
  program
    .command('pause')
    .summary('stop handing out the messages of a topic')
    .description(
      'Stops handing out the messages of a topic, in all processes and until it is resumed. What is being handled goes on.',
    )
    .argument(...TOPIC)
    .addHelpText('after', example('pause order.timeout'))
    .action(async (topic) =>
      cli.open(async (queues) => {
        await cli.assertKnown(queues, topic);
        await queues.admin.pause(topic, { actor: cli.actor });
        cli.print({ topic, paused: true }, () => [`Topic '${topic}' is paused.`]);
      }),
    );
};
