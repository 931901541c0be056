import { type Rules, applyRules, asGiven, oneOf, orElse, trueOrFalse } from '../../checks/rules.js';
import { asConfiguration } from '../../checks/validate.js';
import { handlerSettings } from '../../consumer/handler-settings.js';
import type { HandledTopic, MessageHandler } from '../../consumer/message-handler.interface.js';
import { InvalidArgumentError } from '../../errors/options.errors.js';
import type { HandlerOptions } from '../decorators/handler-options.interface.js';
import { type TopicRef, checkedTopicName, schemaOf } from '../../messages/topic.js';
import { ATTEMPTS, BACKOFF, CONCURRENCY, HANDLER_BATCH, LEASE, LIMIT } from '../../composition/option-rules.js';
import type { ResolvedOptions } from '../../composition/resolve-options.js';
import type { ConsumerSettings } from '../../consumer/consumer-context.js';

/** Options of a connection that handlers fall back on. */
export interface ConsumingOptions extends Pick<ResolvedOptions, 'topicSettings'> {
  readonly consumer: ConsumerSettings;
}

/**
 * Checks the topics and options of a handler. Options left out come from the topic and the consumer.
 *
 * @param name such as `OrderService.onTimeout`
 * @param where its name in errors
 * @throws ConfigurationError that names the handler
 */
export function resolveHandler(
  name: string,
  topics: readonly TopicRef[],
  options: HandlerOptions,
  { topicSettings, consumer }: ConsumingOptions,
  where = `@DelayedHandler on ${name}`,
): Omit<MessageHandler, 'handle'> {
  return asConfiguration(where, () => {
    const { concurrency, batch, inbox, ...own } = applyRules(handlerRules(consumer), 'Its options', options, '');
    const names = checkedNames(topics);
    if (inbox && batch !== undefined) throw new InvalidArgumentError(NO_BATCH);
    const handled = topics.map((ref, i): HandledTopic => {
      const topic = names[i] as string;
      const settings = topicSettings(topic);
      if (settings.delivery === 'at-most-once' && own.attempts !== undefined) {
        throw new InvalidArgumentError(noAttempts(topic));
      }
      if (settings.delivery === 'at-most-once' && inbox) throw new InvalidArgumentError(noInbox(topic));
      return { topic, schema: schemaOf(ref), settings: handlerSettings(settings, own) };
    });
    return { name, concurrency, batch, inbox, topics: handled };
  });
}

function handlerRules({ concurrency, lease }: ConsumerSettings) {
  return {
    concurrency: orElse(CONCURRENCY, concurrency),
    batch: orElse(HANDLER_BATCH, undefined),
    attempts: orElse(ATTEMPTS, undefined),
    backoff: orElse(BACKOFF, undefined),
    timeout: orElse(LIMIT, undefined),
    lease: orElse(LEASE, lease),
    connection: asGiven,
    inbox: orElse(trueOrFalse, false),
    onRefusal: orElse(oneOf('dead-letter', 'retry', 'ack'), undefined),
  } satisfies Rules<HandlerOptions>;
}

const NO_BATCH =
  'inbox and batch do not go together: each message has a transaction of its own. Leave out one of them.';

function noInbox(topic: string): string {
  return `inbox has no meaning for topic '${topic}', which is delivered at most once. Leave it out.`;
}

function noAttempts(topic: string): string {
  return `attempts has no meaning for topic '${topic}', which is delivered at most once. Leave it out.`;
}

function checkedNames(topics: readonly TopicRef[]): string[] {
  const names = topics.map(checkedTopicName);
  if (names.length === 0) throw new InvalidArgumentError('It has no topic. Name at least one.');
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw new InvalidArgumentError(`It names topic '${twice}' twice. Name each topic once.`);
  return names;
}
