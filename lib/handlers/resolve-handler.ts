import { MAX_BATCH } from '../broker/broker.interface.js';
import { assertInteger, assertOneOf, assertOptions } from '../checks/validate.js';
import type { HandledTopic, MessageHandler } from '../consumer/message-handler.interface.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import type { HandlerOptions } from '../decorators/handler-options.interface.js';
import { MAX_ATTEMPTS } from '../checks/limits.js';
import { type TopicRef, checkedTopicName, schemaOf } from '../messages/topic.js';
import {
  MAX_CONCURRENCY,
  asConfiguration,
  optionalDuration,
  resolveBackoff,
  resolveLease,
} from '../connection/option-checks.js';
import type { ResolvedOptions } from '../connection/resolved-options.interface.js';

const HANDLER_OPTIONS = [
  'concurrency',
  'batch',
  'attempts',
  'backoff',
  'timeout',
  'lease',
  'connection',
  'onRefusal',
] as const;

/** Options of a process that consumes. */
export type ConsumingOptions = ResolvedOptions & {
  readonly consumer: NonNullable<ResolvedOptions['consumer']>;
};

export function isConsuming(options: ResolvedOptions): options is ConsumingOptions {
  return options.consumer !== undefined;
}

/** All that is set for a handler, but not what it does. */
export type ResolvedHandler = Omit<MessageHandler, 'handle'>;

/**
 * Checks a handler's topics and options; what they leave out comes from the topic and the consumer.
 *
 * @param name such as `OrderService.onTimeout`
 * @throws ConfigurationError that names the handler
 */
export function resolveHandler(
  name: string,
  topics: readonly TopicRef[],
  options: HandlerOptions,
  { topicSettings, consumer }: ConsumingOptions,
): ResolvedHandler {
  return asConfiguration(`@DelayedHandler on ${name}`, () => {
    assertOptions('Its options', options, HANDLER_OPTIONS);
    const { concurrency = consumer.concurrency, batch, attempts, backoff, timeout, lease, onRefusal } = options;
    assertInteger('concurrency', concurrency, { min: 1, max: MAX_CONCURRENCY });
    if (batch !== undefined) assertInteger('batch', batch, { min: 1, max: MAX_BATCH });
    if (attempts !== undefined) assertInteger('attempts', attempts, { min: 1, max: MAX_ATTEMPTS });
    if (onRefusal !== undefined) assertOneOf('onRefusal', onRefusal, ['dead-letter', 'retry', 'ack']);
    const own = {
      attempts,
      backoff: backoff === undefined ? undefined : resolveBackoff('backoff', backoff),
      timeout: optionalDuration('timeout', timeout),
      lease: lease === undefined ? consumer.lease : resolveLease(lease),
    };
    const names = checkedNames(topics);
    const handled = topics.map((ref, i): HandledTopic => {
      const topic = names[i] as string;
      const settings = topicSettings(topic);
      return {
        topic,
        schema: schemaOf(ref),
        settings: {
          attempts: own.attempts ?? settings.attempts,
          backoff: own.backoff ?? settings.backoff,
          timeout: own.timeout ?? settings.timeout,
          lease: own.lease,
          expireAfter: settings.expireAfter,
          serializer: settings.serializer,
          deadLetter: settings.deadLetter,
        },
      };
    });
    return { name, concurrency, batch, topics: handled };
  });
}

function checkedNames(topics: readonly TopicRef[]): string[] {
  const names = topics.map(checkedTopicName);
  if (names.length === 0) throw new InvalidArgumentError('It has no topic. Name at least one.');
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw new InvalidArgumentError(`It names topic '${twice}' twice. Name each topic once.`);
  return names;
}
