import { type AddCommand, TOPIC } from '../command.js';
import { toDuration } from '../given-values.js';
import { example } from '../program.js';
import { shownTime } from '../times.js';

export const hold: AddCommand = (program, cli) => {
  program
    .command('hold')
    .summary('stop handing out the messages of a topic for a while')
    .description(
      'Stops handing out the messages of a topic for a while, in all processes. What is being handled goes on. It ends by itself, or by ' +
        'resume; a hold that lasts longer stays.',
    )
    .argument(...TOPIC)
    .requiredOption('--for <duration>', "how long from now, such as '30m'", toDuration)
    .addHelpText('after', example('hold order.timeout --for 30m'))
    .action(async (topic, { for: delay }) =>
      cli.open(async (queues) => {
        await cli.assertKnown(queues, topic);
        const heldUntil = await queues.admin.hold(topic, delay, { actor: cli.actor });
        cli.print({ topic, heldUntil }, () => [
          `Topic '${topic}' is held until ${shownTime(heldUntil, queues.broker.now())}.`,
        ]);
      }),
    );
};
