import type { RedisSettings } from '../broker/redis/redis-settings.js';
import { parseDuration } from '../common/duration.js';
import type { Log } from '../common/log.js';
import { assertOptions } from '../common/validate.js';
import type { DelayQueueAdminOptions } from '../create-delay-queue-admin.js';
import { assertName } from '../message/topic.js';
import { DEFAULT_PREFIX, DEFAULT_REDIS, DEFAULT_TIMEOUT, MAX_TIMEOUT, assertRedis } from './connection-checks.js';
import { asConfiguration } from './option-checks.js';

/** The options of `createDelayQueueAdmin()`, checked and with all defaults filled in. */
export interface ResolvedAdminOptions {
  readonly redis: RedisSettings;
  readonly prefix: string;
  /** Milliseconds. */
  readonly timeout: number;
  readonly log: Log;
}

/** @throws ConfigurationError that says which option is wrong, and why */
export function resolveAdminOptions(options: DelayQueueAdminOptions): ResolvedAdminOptions {
  return asConfiguration('createDelayQueueAdmin', () => {
    assertOptions('The options', options, ['redis', 'prefix', 'timeout', 'log']);
    const { redis = DEFAULT_REDIS, prefix = DEFAULT_PREFIX, timeout = DEFAULT_TIMEOUT, log = console } = options;
    assertName('prefix', prefix);
    assertRedis(redis);
    return { redis, prefix, timeout: parseDuration('timeout', timeout, { min: 1, max: MAX_TIMEOUT }), log };
  });
}
