import { asConfiguration } from '../checks/validate.js';
import { RedisBackend } from './backend.js';
import type { DelayQueueAdminOptions } from './create-delay-queue-admin.js';
import { DelayQueueConnection } from './delay-queue.connection.js';
import type { TopicOptions } from './delay-queue-options.interface.js';
import { checkOptions, resolveTimeout } from './resolve-options.js';

/** How the standalone gateway connects. */
export interface GatewayConnectionOptions extends Pick<DelayQueueAdminOptions, 'redis' | 'prefix' | 'timeout' | 'log'> {
  readonly topics: Readonly<Record<string, TopicOptions>>;
}

/**
 * A connection without an application, that publishes and receives.
 *
 * @param name what error messages call the one who made it
 * @throws ConfigurationError, BrokerUnavailableError
 */
export async function openGatewayConnection(
  name: string,
  { timeout, log = console, ...options }: GatewayConnectionOptions,
): Promise<DelayQueueConnection> {
  const resolved = asConfiguration(name, () =>
    checkOptions({ ...options, topics: { ...options.topics }, publishTimeout: resolveTimeout('timeout', timeout) }),
  );
  const connection = await DelayQueueConnection.create({ name, options: resolved, backend: new RedisBackend(), log });
  try {
    await connection.connect();
    await connection.consume({ handlers: [], hooks: [], schedules: [] });
  } catch (error) {
    await connection.close();
    throw error;
  }
  return connection;
}
