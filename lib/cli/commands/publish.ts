import { Option } from '@commander-js/extra-typings';
import { nearest } from '../../checks/nearest.js';
import type { StoredBackoff } from '../../messages/backoff.js';
import type { PublishOptions } from '../../messages/publish-options.interface.js';
import type { Cli, Queues } from '../cli.js';
import { notFound } from '../cli-error.js';
import { type AddCommand, TOPIC } from '../command.js';
import { readJson, toDuration, toHeaders, toNumber, toTags, toTime } from '../given-values.js';
import { TIME_FORMS } from '../../time/iso-time.js';
import { example } from '../program.js';
import { shown } from '../text.js';
import { shownTime } from '../times.js';

const ON_DUPLICATE = [
  'reject',
  'ignore',
  'replace',
  'earliest',
] as const satisfies readonly PublishOptions['onDuplicate'][];

export const publish: AddCommand = (program, cli) => {
  program
    .command('publish')
    .summary('publish a message')
    .description(
      'Publishes a message, due at once unless --delay or --deliver-at say otherwise. No schema is checked here; if the topic ' +
        'has one, it is checked before delivery.',
    )
    .argument(...TOPIC)
    .argument('<payload>', 'JSON, @file, or - for the standard input')
    .option('--id <id>', 'names the message; default: a UUIDv7')
    .option('--key <key>', 'places the message in a partition; default: the id')
    .option('--delay <duration>', "time from now until it is due, such as '30m'", toDuration)
    .option('--deliver-at <time>', `when it is due, as ${TIME_FORMS}`, toTime)
    .option('--attempts <number>', 'how many deliveries may fail before it is a dead letter', toNumber)
    .option('--backoff <backoff>', `wait between attempts, as JSON: '{"type":"fixed","delay":"1m"}'`)
    .option('--timeout <duration>', 'longest run of one handler call', toDuration)
    .option(
      '--expire-after <duration>',
      'dead letter if it is not delivered within this time after it was due',
      toDuration,
    )
    .option('--header <name=value>', 'stored with the payload; may be given several times', toHeaders)
    .option('--tag <tag>', 'what it can be found by; may be given several times', toTags)
    .addOption(new Option('--on-duplicate <what>', 'if the id exists').choices(ON_DUPLICATE))
    .option(
      '--max-wait <duration>',
      'with --on-duplicate replace: due at most so long after the first publish',
      toDuration,
    )
    .option('--create', 'make the topic, although one with nearly the same name exists')
    .addHelpText('after', example(`publish order.timeout '{"orderId":"42"}' --id 42 --delay 30m`))
    .action(async (topic, text, { create = false, header, tag, backoff, ...given }) => {
      const payload = await readJson(cli.terminal, 'The payload', text, 'payload');
      const options = definedOf({
        ...given,
        headers: header,
        tags: tag,
        // The library checks what it is.
        backoff:
          backoff === undefined ? undefined : ((await readJson(cli.terminal, '--backoff', backoff)) as StoredBackoff),
      });
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
 * A publish makes a topic that is new, and it stays for good, so a typing error is to be noticed.
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

/** The library tells an option that is left out from one that is `undefined`, and names each that it refuses. */
function definedOf(given: { [K in keyof PublishOptions]?: PublishOptions[K] | undefined }): PublishOptions {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
