import { runBulk } from '../bulk.js';
import { type Cli, type Queues } from '../cli.js';
import { usageError } from '../cli-error.js';
import { type AddCommand, KEY, TOPIC } from '../command.js';
import { messageName } from '../given-values.js';
import { example } from '../program.js';
import { shown } from '../text.js';

const TOLD = {
  cancelled: 'is cancelled',
  'in-flight': 'is being handled: its signal is aborted, and it is not retried',
} as const;

export const cancel: AddCommand = (program, cli) => {
  program
    .command('cancel')
    .summary('cancel a message, or all that carry a tag')
    .description(
      'Cancels a message, or all that carry a tag. If one is being handled, its signal is aborted and no retry follows.',
    )
    .argument(...TOPIC)
    .argument('[id]', 'id of the message')
    .option(...KEY)
    .option('--tag <tag>', 'instead of an id: all that carry this tag. It asks first')
    .option('--dry-run', 'with --tag: count them, and change nothing')
    .addHelpText('after', example('cancel order.timeout 42', 'cancel order.timeout --tag order:42 --yes'))
    .action(async (topic, id, { key, tag, dryRun = false }) => {
      if ((id === undefined) === (tag === undefined) || (tag !== undefined && key !== undefined)) {
        throw usageError('Give either an id, with --key if need be, or --tag.');
      }
      if (dryRun && tag === undefined)
        throw usageError('--dry-run is for --tag: explain says what there is of one message.');
      await cli.open(async (queues) => {
        if (id !== undefined) await cancelOne(cli, queues, { topic, id, key });
        else if (tag !== undefined) await cancelTagged(cli, queues, { topic, tag, dryRun });
      });
    });
};

async function cancelOne(
  cli: Cli,
  queues: Queues,
  { topic, id, key }: { topic: string; id: string; key: string | undefined },
): Promise<void> {
  const result = await queues.admin.cancel(topic, messageName(id, key), { actor: cli.actor });
  if (result !== 'not-found') {
    cli.print({ topic, id, result }, () => [`Message '${shown(id)}' ${TOLD[result]}.`]);
    return;
  }
  await cli.assertKnown(queues, topic);
  cli.refuse({ topic, id, result }, `Topic '${topic}' has no message '${shown(id)}' that could be cancelled.`);
}

async function cancelTagged(
  cli: Cli,
  queues: Queues,
  { topic, tag, dryRun }: { topic: string; tag: string; dryRun: boolean },
): Promise<void> {
  await cli.assertKnown(queues, topic);
  await runBulk(cli, {
    topic,
    singular: 'message',
    about: { tag },
    done: 'cancelled',
    dryRun,
    destroys: 'cancels',
    call: async (call) => {
      const { matched, cancelled, inFlight } = await queues.admin.cancelTagged(topic, tag, call);
      return { matched, changed: cancelled, inFlight };
    },
  });
}
