import { describe } from '../checks/describe.js';
import { parseDuration } from '../time/duration.js';
import { assertInteger, assertOptions, isPlainObject } from '../checks/validate.js';
import { DEFAULT_CONNECTION } from '../decorators/delay-queue.constants.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import type { ConsumerOptions, DelayQueueModuleOptions, TopicOptions } from './delay-queue-options.interface.js';
import { DEFAULT_BACKOFF } from '../messages/backoff.js';
import { MAX_ATTEMPTS, MAX_DELAY, MAX_PARTITIONS } from '../checks/limits.js';
import { assertName } from '../messages/topic.js';
import type { TopicSettings } from '../topics/topic-settings.interface.js';
import { DEFAULT_PREFIX, DEFAULT_REDIS, DEFAULT_TIMEOUT, MAX_TIMEOUT, assertRedis } from './connection-checks.js';
import {
  MAX_CONCURRENCY,
  asConfiguration,
  optionalDuration,
  optionalSerializer,
  resolveBackoff,
  resolveLease,
} from './option-checks.js';
import { resolveMetrics } from './resolve-metrics.js';
import { resolveFleetEvents } from './resolve-fleet-events.js';
import { resolveMiddleware } from '../middleware/resolve-middleware.js';
import type { ResolvedOptions } from './resolved-options.interface.js';

/** How often a process tells that it lives, at least; in milliseconds. */
const LONGEST_HEARTBEAT = 5000;

const MODULE_OPTIONS = [
  'redis',
  'prefix',
  'topics',
  'defaults',
  'consumer',
  'publishTimeout',
  'middleware',
  'metrics',
  'fleetEvents',
  'serializer',
] as const;
/** Known when the module is imported, and so given to `forRoot()` and beside a factory. */
const IMPORT_OPTIONS = ['name', 'isGlobal'] as const;
const TOPIC_OPTIONS = [
  'partitions',
  'attempts',
  'backoff',
  'timeout',
  'expireAfter',
  'deadLetter',
  'serializer',
] as const;
const CONSUMER_OPTIONS = ['concurrency', 'lease', 'shutdownTimeout', 'maxIdleWait'] as const;

const DEFAULT_TOPIC_SETTINGS: TopicSettings = {
  partitions: undefined,
  attempts: 5,
  backoff: DEFAULT_BACKOFF,
  timeout: undefined,
  expireAfter: undefined,
  serializer: undefined,
  deadLetter: { maxAge: undefined, maxCount: undefined },
};

/**
 * Checks the module's options and fills in every default; the only place that does.
 *
 * @throws ConfigurationError that says which option is wrong, and why
 */
export function resolveOptions(
  options: DelayQueueModuleOptions,
  connection: string = DEFAULT_CONNECTION,
): ResolvedOptions {
  return asConfiguration('DelayQueueModule', () => {
    assertName('connection', connection);
    assertOptions('The module options', options, [...MODULE_OPTIONS, ...IMPORT_OPTIONS]);
    assertNotFromFactory(options);
    const { redis = DEFAULT_REDIS, prefix = DEFAULT_PREFIX, publishTimeout = DEFAULT_TIMEOUT } = options;
    const { topics = {}, defaults = {}, consumer = {}, middleware = [], metrics, fleetEvents = false } = options;
    const serializer = optionalSerializer('serializer', options.serializer);
    assertName('prefix', prefix);
    assertRedis(redis);
    if (!isPlainObject(topics)) {
      throw new InvalidArgumentError(`topics must be an object of options by topic. Given: ${describe(topics)}.`);
    }
    const base = resolveTopic('defaults', defaults, { ...DEFAULT_TOPIC_SETTINGS, serializer });
    const own = new Map<string, TopicSettings>();
    for (const [topic, topicOptions] of Object.entries(topics)) {
      assertName('topic', topic);
      own.set(topic, resolveTopic(`topics['${topic}']`, topicOptions, base));
    }
    return Object.freeze({
      connection,
      given: options,
      redis,
      prefix,
      publishTimeout: parseDuration('publishTimeout', publishTimeout, {
        min: 1,
        max: MAX_TIMEOUT,
      }),
      consumer: consumer === false ? undefined : resolveConsumer(consumer),
      middleware: resolveMiddleware(middleware),
      metrics: resolveMetrics(metrics),
      fleetEvents: resolveFleetEvents(fleetEvents),
      topics: [...own.keys()],
      topicSettings: (topic: string) => own.get(topic) ?? base,
    });
  });
}

/** Nest has taken them out of what `forRoot()` is given; what is left comes from a factory. */
function assertNotFromFactory(options: DelayQueueModuleOptions): void {
  const misplaced = IMPORT_OPTIONS.find((option) => options[option] !== undefined);
  if (misplaced === undefined) return;
  throw new InvalidArgumentError(
    `The options that a factory makes have '${misplaced}', which has to be known before it is called. Give it beside ` +
      `useFactory, useClass or useExisting: forRootAsync({ ${misplaced}, useFactory }).`,
  );
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
    serializer: optionalSerializer(`${name}.serializer`, options.serializer) ?? base.serializer,
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
    heartbeat: Math.min(
      parseDuration('consumer.maxIdleWait', maxIdleWait, { min: 100, max: 60_000 }),
      LONGEST_HEARTBEAT,
    ),
  });
}
