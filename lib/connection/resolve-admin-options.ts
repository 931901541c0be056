import type { RedisSettings } from '../broker/redis/redis-settings.js';
import { describe } from '../checks/describe.js';
import { parseDuration } from '../time/duration.js';
import type { Log } from '../log.js';
import { assertOptions, isPlainObject } from '../checks/validate.js';
import type { DelayQueueAdminOptions } from './create-delay-queue-admin.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import type { PayloadSerializer } from '../messages/serializer.js';
import { assertName } from '../messages/topic.js';
import { DEFAULT_PREFIX, DEFAULT_REDIS, DEFAULT_TIMEOUT, MAX_TIMEOUT, assertRedis } from './connection-checks.js';
import { asConfiguration, optionalSerializer } from './option-checks.js';

/** The options of `createDelayQueueAdmin()`, checked and with all defaults filled in. */
export interface ResolvedAdminOptions {
  readonly redis: RedisSettings;
  readonly prefix: string;
  /** Milliseconds. */
  readonly timeout: number;
  readonly log: Log;
  readonly serializerOf: (topic: string) => PayloadSerializer | undefined;
}

/** @throws ConfigurationError that says which option is wrong, and why */
export function resolveAdminOptions(options: DelayQueueAdminOptions): ResolvedAdminOptions {
  return asConfiguration('createDelayQueueAdmin', () => {
    assertOptions('The options', options, ['redis', 'prefix', 'timeout', 'log', 'serializer', 'topics']);
    const { redis = DEFAULT_REDIS, prefix = DEFAULT_PREFIX, timeout = DEFAULT_TIMEOUT, log = console } = options;
    assertName('prefix', prefix);
    assertRedis(redis);
    return {
      redis,
      prefix,
      timeout: parseDuration('timeout', timeout, { min: 1, max: MAX_TIMEOUT }),
      log,
      serializerOf: resolveSerializers(options),
    };
  });
}

function resolveSerializers({ serializer, topics = {} }: DelayQueueAdminOptions): ResolvedAdminOptions['serializerOf'] {
  optionalSerializer('serializer', serializer);
  if (!isPlainObject(topics)) {
    throw new InvalidArgumentError(`topics must be an object of options by topic. Given: ${describe(topics)}.`);
  }
  const own = new Map<string, PayloadSerializer | undefined>();
  for (const [topic, topicOptions] of Object.entries(topics)) {
    assertName('topic', topic);
    assertOptions(`topics['${topic}']`, topicOptions, ['serializer']);
    own.set(topic, optionalSerializer(`topics['${topic}'].serializer`, topicOptions.serializer));
  }
  return (topic) => own.get(topic) ?? serializer;
}
