import { assertRedis } from '../../composition/assert-redis.js';
import { RedisConnection } from '../../broker/redis/redis-connection.js';
import type { RedisSettings } from '../../broker/redis/redis-settings.js';
import { InvalidArgumentError } from '../../errors/options.errors.js';
import type { Log } from '../../log.js';
import { usageError } from '../cli-error.js';

/**
 * Connects to the Redis of BullMQ, works, and disconnects.
 *
 * @param timeout longest time until the connection is there, in milliseconds
 * @throws CliError if the settings are none; BrokerUnavailableError or ConfigurationError if it cannot be used
 */
export async function withBullConnection<T>(
  settings: RedisSettings,
  { timeout, log }: { timeout: number; log: Log },
  work: (connection: RedisConnection) => Promise<T>,
): Promise<T> {
  assertFrom(settings);
  const connection = new RedisConnection(await import('ioredis'), settings, log, timeout);
  try {
    await connection.connect();
    return await work(connection);
  } finally {
    connection.close();
  }
}

function assertFrom(settings: RedisSettings): void {
  try {
    assertRedis(settings);
  } catch (error) {
    if (error instanceof InvalidArgumentError) throw usageError(error.message.replace(/^redis must/, '--from must'));
    throw error;
  }
}
