import { runBulk } from '../bulk.js';
import { printChange } from '../change-message.js';
import type { AddCommand } from '../command.js';
import { chosenOf, manyCommand } from '../message-filter-options.js';
import { example } from '../program.js';

export const runNow: AddCommand = (program, cli) => {
  manyCommand(program, 'run-now')
    .summary('make a message that waits, or all that fit, due now')
    .description(
      'Makes a message that waits due now, or without an id those that fit all filters. One that is due already keeps its place before others.',
    )
    .addHelpText('after', example('run-now order.timeout 42', 'run-now order.timeout --tag customer:7 --rate 50'))
    .action(async (topic, given, options) => {
      const chosen = chosenOf(given, options);
      await cli.open(async (queues) => {
        if (chosen.id === undefined) {
          await runBulk(cli, queues, {
            topic,
            singular: 'waiting message',
            done: 'due',
            dryRun: chosen.dryRun,
            call: (call) => queues.admin.runNow(topic, chosen.filter, { ...call, ...chosen.options }),
          });
          return;
        }
        const { id, ref } = chosen;
        const result = await queues.admin.runNow(topic, ref, { actor: cli.actor });
        await printChange(cli, queues, { topic, id, done: 'due', result });
      });
    });
};
