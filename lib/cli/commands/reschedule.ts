import { runBulk } from '../bulk.js';
import { printChange } from '../change-message.js';
import { usageError } from '../cli-error.js';
import type { AddCommand } from '../command.js';
import { toDuration, toTime } from '../given-values.js';
import { chosenOf, manyCommand } from '../message-filter-options.js';
import { TIME_FORMS } from '../../time/date.js';
import { example } from '../program.js';

export const reschedule: AddCommand = (program, cli) => {
  manyCommand(program, 'reschedule')
    .summary('move a message that waits, or all that fit, to another time')
    .description(
      'Moves a message that waits, or without an id those that fit all filters, to another time: say either how long from now, or when.',
    )
    .option('--delay <duration>', "time from now, such as '30m'", toDuration)
    .option('--deliver-at <time>', `when it is due, as ${TIME_FORMS}`, toTime)
    .addHelpText(
      'after',
      example(
        'reschedule order.timeout 42 --delay 1h',
        'reschedule order.timeout --tag customer:7 --delay 30d --dry-run',
      ),
    )
    .action(async (topic, given, { delay, deliverAt, ...options }) => {
      const when = whenOf(delay, deliverAt);
      const chosen = chosenOf(given, options);
      await cli.open(async (queues) => {
        if (chosen.id === undefined) {
          await runBulk(cli, queues, {
            topic,
            singular: 'waiting message',
            done: 'rescheduled',
            dryRun: chosen.dryRun,
            call: (call) => queues.admin.reschedule(topic, chosen.filter, when, { ...call, ...chosen.options }),
          });
          return;
        }
        const { id, ref } = chosen;
        const result = await queues.admin.reschedule(topic, ref, when, { actor: cli.actor });
        await printChange(cli, queues, { topic, id, done: 'rescheduled', result });
      });
    });
};

function whenOf(delay: string | undefined, deliverAt: number | undefined): { delay: string } | { deliverAt: number } {
  if (delay !== undefined && deliverAt === undefined) return { delay };
  if (delay === undefined && deliverAt !== undefined) return { deliverAt };
  throw usageError('Give either --delay or --deliver-at.');
}
