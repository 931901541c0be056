import { nearest } from '../../checks/nearest.js';
import { PUBLISH_RULES } from '../../messages/message-options.js';
import type { Cli, Queues } from '../cli.js';
import { notFound } from '../cli-error.js';
import { type AddCommand, TOPIC } from '../command.js';
import { readJson } from '../given-values.js';
import { addFlags, flagsIn } from '../flags.js';
import { example } from '../program.js';
import { shown } from '../text.js';
import { shownTime } from '../times.js';

export const publish: AddCommand = (program, cli) => {
  const command = program.command('publish');
  addFlags(command, PUBLISH_RULES);
  command
    .summary('publish a message')
    .description(
      'Publishes a message, due at once unless --delay or --deliver-at say otherwise. No schema is checked here; if the topic ' +
        'has one, it is checked before delivery.',
    )
    .argument(...TOPIC)
    .argument('<payload>', 'JSON, @file, or - for the standard input')
    .option('--create', 'make the topic, although one with nearly the same name exists')
    .addHelpText('after', example(`publish order.timeout '{"orderId":"42"}' --id 42 --delay 30m`))
    .action(async (topic, text, { create = false }) => {
      const payload = await readJson(cli.terminal, 'The payload', text, 'payload');
      const options = await flagsIn(command, cli.terminal, PUBLISH_RULES);
      await cli.open(async (queues) => {
        if (!create) await assertMeant(cli, queues, topic);
        const published = await queues.producer.publish(topic, payload, options);
        const { id, dueAt, duplicate } = published;
        cli.print(published, () => [
          `Message '${shown(id)}' ${duplicate ? 'existed and ' : ''}is due ${shownTime(dueAt, queues.broker.now())}.`,
        ]);
      });
    });
};

/**
 * Guards against typing errors: a publish creates a topic that does not exist, and the topic stays for good.
 *
 * @throws CliError
 */
async function assertMeant(cli: Cli, { admin }: Queues, topic: string): Promise<void> {
  const topics = await admin.topics();
  if (topics.includes(topic)) return;
  const similar = nearest(topic, topics);
  if (similar !== undefined) {
    throw notFound(
      `Topic '${shown(topic)}' was never used. Did you mean '${similar}'? If not, give --create. Nothing was published.`,
    );
  }
  cli.note(`Topic '${shown(topic)}' is new.`);
}
