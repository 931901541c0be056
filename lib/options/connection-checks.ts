import { describe } from '../common/describe.js';
import { InvalidArgumentError } from '../errors/invalid-argument.error.js';

export const DEFAULT_REDIS = 'redis://127.0.0.1:6379';
export const DEFAULT_PREFIX = 'dq';
export const DEFAULT_TIMEOUT = '5s';

/** Half of the time for which Redis remembers the answer to a call, in milliseconds. */
export const MAX_TIMEOUT = 60_000;

/** What ioredis would take for a host name, or for nothing, and then fail to reach. */
export function assertRedis(redis: unknown): void {
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
