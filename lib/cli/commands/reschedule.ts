import { printChange } from '../change-message.js';
import { usageError } from '../cli-error.js';
import { type AddCommand, ID, KEY, TOPIC } from '../command.js';
import { TIME_FORMS, messageName, toTime } from '../given-values.js';
import { example } from '../program.js';

export const reschedule: AddCommand = (program, cli) => {
  program
    .command('reschedule')
    .summary('move a message that waits to another time')
    .description('Moves a message that waits to another time: say either how long from now, or when.')
    .argument(...TOPIC)
    .argument(...ID)
    .option(...KEY)
    .option('--delay <duration>', "time from now, such as '30m'")
    .option('--deliver-at <time>', `when it is due, as ${TIME_FORMS}`, toTime)
    .addHelpText('after', example('reschedule order.timeout 42 --delay 1h'))
    .action(async (topic, id, { key, delay, deliverAt }) => {
      const when = whenOf(delay, deliverAt);
      await cli.open(async (queues) => {
        const changed = await queues.admin.reschedule(topic, messageName(id, key), when, { actor: cli.actor });
        await printChange(cli, queues, { topic, id, property: 'rescheduled', changed });
      });
    });
};

function whenOf(delay: string | undefined, deliverAt: number | undefined): { delay: string } | { deliverAt: number } {
  if (delay !== undefined && deliverAt === undefined) return { delay };
  if (delay === undefined && deliverAt !== undefined) return { deliverAt };
  throw usageError('Give either --delay or --deliver-at.');
}
