import { runBulk } from '../bulk.js';
import { usageError } from '../cli-error.js';
import type { AddCommand } from '../command.js';
import { deadLetterCommand, missingOf, selectionOf } from '../dead-letter-command.js';
import { readJson, toDuration } from '../given-values.js';
import { example } from '../program.js';

export const requeue: AddCommand = (program, cli) => {
  deadLetterCommand(program, 'requeue')
    .summary('schedule dead letters again')
    .description(
      'Schedules dead letters again, with all their attempts before them: one by its id, those that a filter fits, or all. ' +
        'Payload, headers and options stay as they are.',
    )
    .option('--delay <duration>', 'time until they are due', toDuration, '0')
    .option('--payload <payload>', 'with --id: another payload, as JSON, @file, or - for the standard input')
    .addHelpText(
      'after',
      example('requeue order.timeout --id 42', 'requeue order.timeout --reason failed --rate 50 --dry-run'),
    )
    .action(async (topic, { rate, delay, payload, dryRun = false, ...given }) => {
      const which = selectionOf(given);
      if (payload !== undefined && given.id === undefined)
        throw usageError('--payload is for one dead letter: give --id.');
      const replacement =
        payload === undefined ? {} : { payload: await readJson(cli.terminal, 'The payload', payload, 'payload') };
      const options = { delay, ...replacement, rate };
      await cli.open(async (queues) => {
        await runBulk(cli, queues, {
          topic,
          singular: 'dead letter',
          done: 'requeued',
          dryRun,
          call: (call) => queues.admin.requeue(topic, which, { ...options, ...call }),
          missing: missingOf(topic, given.id),
        });
      });
    });
};
