import { describe } from '../common/describe.js';
import { parseDuration } from '../common/duration.js';
import { assertInteger, assertOptions, isPlainObject } from '../common/validate.js';
import { ConfigurationError } from '../errors/configuration.error.js';
import { InvalidArgumentError } from '../errors/invalid-argument.error.js';
import type { HandlerSettings } from '../consumer/message-handler.interface.js';
import type {
  ConsumerOptions,
  DelayQueueModuleOptions,
  TopicOptions,
} from '../interfaces/delay-queue-options.interface.js';
import type { HandlerOptions } from '../interfaces/handler-options.interface.js';
import { DEFAULT_BACKOFF, type Backoff, resolveStoredBackoff } from '../message/backoff.js';
import { MAX_ATTEMPTS, MAX_DELAY, MAX_PARTITIONS } from '../message/limits.js';
import { assertName } from '../message/topic.js';
import type { ActiveBackoff, TopicSettings } from '../topics/topic-settings.interface.js';
import type { ResolvedOptions } from './resolved-options.interface.js';

const MAX_CONCURRENCY = 100_000;

/** Half of the time for which Redis remembers the answer to a publish, in milliseconds. */
const MAX_PUBLISH_TIMEOUT = 60_000;

const MODULE_OPTIONS = ['redis', 'prefix', 'topics', 'defaults', 'consumer', 'publishTimeout'] as const;
const TOPIC_OPTIONS = ['partitions', 'attempts', 'backoff', 'timeout', 'expireAfter', 'deadLetter'] as const;
const CONSUMER_OPTIONS = ['concurrency', 'lease', 'shutdownTimeout', 'maxIdleWait'] as const;
const HANDLER_OPTIONS = ['concurrency', 'attempts', 'backoff', 'timeout', 'lease'] as const;

const DEFAULT_TOPIC_SETTINGS: TopicSettings = {
  partitions: undefined,
  attempts: 5,
  backoff: DEFAULT_BACKOFF,
  timeout: undefined,
  expireAfter: undefined,
  deadLetter: { maxAge: undefined, maxCount: undefined },
};

/**
 * Checks the module's options and fills in every default; the only place that does.
 *
 * @throws ConfigurationError that says which option is wrong, and why
 */
export function resolveOptions(options: DelayQueueModuleOptions): ResolvedOptions {
  return asConfiguration('DelayQueueModule', () => {
    assertOptions('The module options', options, MODULE_OPTIONS);
    const { redis = 'redis://127.0.0.1:6379', prefix = 'dq', publishTimeout = '5s' } = options;
    const { topics = {}, defaults = {}, consumer = {} } = options;
    assertName('prefix', prefix);
    assertRedis(redis);
    if (!isPlainObject(topics)) {
      throw new InvalidArgumentError(`topics must be an object of options by topic. Given: ${describe(topics)}.`);
    }
    const base = resolveTopic('defaults', defaults, DEFAULT_TOPIC_SETTINGS);
    const own = new Map<string, TopicSettings>();
    for (const [topic, topicOptions] of Object.entries(topics)) {
      assertName('topic', topic);
      own.set(topic, resolveTopic(`topics['${topic}']`, topicOptions, base));
    }
    return Object.freeze({
      redis,
      prefix,
      publishTimeout: parseDuration('publishTimeout', publishTimeout, {
        min: 1,
        max: MAX_PUBLISH_TIMEOUT,
      }),
      consumer: consumer === false ? undefined : resolveConsumer(consumer),
      topics: [...own.keys()],
      topicSettings: (topic: string) => own.get(topic) ?? base,
    });
  });
}

/**
 * Checks a handler's options; what they leave out comes from the topic and the consumer.
 *
 * @param name such as `OrderService.onTimeout`
 * @throws ConfigurationError that names the handler
 */
export function resolveHandler(
  name: string,
  options: HandlerOptions,
  topic: TopicSettings,
  consumer: { readonly lease: number; readonly concurrency: number },
): HandlerSettings {
  return asConfiguration(`@DelayedHandler on ${name}`, () => {
    assertOptions('Its options', options, HANDLER_OPTIONS);
    const { concurrency = consumer.concurrency, attempts = topic.attempts, backoff, timeout, lease } = options;
    assertInteger('concurrency', concurrency, { min: 1, max: MAX_CONCURRENCY });
    assertInteger('attempts', attempts, { min: 1, max: MAX_ATTEMPTS });
    return {
      concurrency,
      attempts,
      backoff: backoff === undefined ? topic.backoff : resolveBackoff('backoff', backoff),
      timeout: optionalDuration('timeout', timeout) ?? topic.timeout,
      lease: lease === undefined ? consumer.lease : resolveLease(lease),
      expireAfter: topic.expireAfter,
      deadLetter: topic.deadLetter,
    };
  });
}

/** What ioredis would take for a host name, or for nothing, and then fail to reach. */
function assertRedis(redis: unknown): void {
  const isUrl =
    typeof redis === 'string' && (/^rediss?:\/\/./.test(redis) || redis.startsWith('/')) && isReadable(redis);
  const isSettings = typeof redis === 'object' && redis !== null && !Array.isArray(redis);
  if (isUrl || isSettings) return;
  throw new InvalidArgumentError(
    `redis must be a URL (redis://host:port, rediss://host:port, or the path of a socket), ioredis options, ` +
      `{ nodes, options } or an ioredis instance. Given: ${describe(withoutPassword(redis))}.`,
  );
}

function withoutPassword(redis: unknown): unknown {
  return typeof redis === 'string' ? redis.replace(/\/\/.*@/, '//***@') : redis;
}

function isReadable(address: string): boolean {
  return address.startsWith('/') || URL.canParse(address);
}

function resolveTopic(name: string, options: TopicOptions, base: TopicSettings): TopicSettings {
  assertOptions(name, options, TOPIC_OPTIONS);
  const { partitions = base.partitions, attempts = base.attempts, backoff, timeout, expireAfter } = options;
  if (partitions !== undefined) assertInteger(`${name}.partitions`, partitions, { min: 1, max: MAX_PARTITIONS });
  assertInteger(`${name}.attempts`, attempts, { min: 1, max: MAX_ATTEMPTS });
  const { deadLetter = {} } = options;
  assertOptions(`${name}.deadLetter`, deadLetter, ['maxAge', 'maxCount']);
  const { maxCount = base.deadLetter.maxCount } = deadLetter;
  if (maxCount !== undefined) {
    assertInteger(`${name}.deadLetter.maxCount`, maxCount, { min: 0, max: Number.MAX_SAFE_INTEGER });
  }
  return Object.freeze({
    partitions,
    attempts,
    backoff: backoff === undefined ? base.backoff : resolveBackoff(`${name}.backoff`, backoff),
    timeout: optionalDuration(`${name}.timeout`, timeout) ?? base.timeout,
    expireAfter: optionalDuration(`${name}.expireAfter`, expireAfter) ?? base.expireAfter,
    deadLetter: {
      maxAge: optionalDuration(`${name}.deadLetter.maxAge`, deadLetter.maxAge) ?? base.deadLetter.maxAge,
      maxCount,
    },
  });
}

function resolveConsumer(options: ConsumerOptions): NonNullable<ResolvedOptions['consumer']> {
  assertOptions('consumer', options, CONSUMER_OPTIONS);
  const { concurrency = 100, lease = '30s', shutdownTimeout = '10s', maxIdleWait = '5s' } = options;
  assertInteger('consumer.concurrency', concurrency, { min: 1, max: MAX_CONCURRENCY });
  return Object.freeze({
    concurrency,
    lease: resolveLease(lease),
    shutdownTimeout: parseDuration('consumer.shutdownTimeout', shutdownTimeout, { max: MAX_DELAY }),
    maxIdleWait: parseDuration('consumer.maxIdleWait', maxIdleWait, { min: 100, max: 60_000 }),
  });
}

function resolveBackoff(name: string, backoff: Backoff): ActiveBackoff {
  return typeof backoff === 'function' ? backoff : resolveStoredBackoff(name, backoff);
}

/** Below a second, a garbage collection could cost a lease. */
function resolveLease(lease: unknown): number {
  return parseDuration('lease', lease, { min: 1000, max: MAX_DELAY });
}

function optionalDuration(name: string, value: unknown): number | undefined {
  return value === undefined ? undefined : parseDuration(name, value, { min: 1, max: MAX_DELAY });
}

/** What is wrong with an option is an argument error to the checks, and a configuration error to the application. */
function asConfiguration<T>(where: string, resolve: () => T): T {
  try {
    return resolve();
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    throw new ConfigurationError(`${where}: ${error.message}`, { cause: error });
  }
}
