import { asConfiguration } from '../checks/validate.js';
import { SystemBackend } from './backend.js';
import type { DelayQueueAdminOptions } from './create-delay-queue-admin.js';
import { DelayQueueConnection } from './delay-queue.connection.js';
import type { TopicOptions } from './delay-queue-options.interface.js';
import { CALL_TIMEOUT } from './option-rules.js';
import { checkOptions } from './resolve-options.js';

/** Connection options of the standalone gateway. */
export interface GatewayConnectionOptions extends Pick<DelayQueueAdminOptions, 'redis' | 'prefix' | 'timeout' | 'log'> {
  readonly topics: Readonly<Record<string, TopicOptions>>;
}

/**
 * Opens a connection without an application, to publish and receive.
 *
 * @param name the caller's name in error messages
 * @throws ConfigurationError, BrokerUnavailableError
 */
export async function openGatewayConnection(
  name: string,
  { timeout, log = console, topics, ...options }: GatewayConnectionOptions,
): Promise<DelayQueueConnection> {
  const resolved = asConfiguration(name, () =>
    checkOptions({ ...options, topics: { ...topics }, publishTimeout: CALL_TIMEOUT('timeout', timeout) }),
  );
  const connection = await DelayQueueConnection.create({ name, options: resolved, backend: new SystemBackend(), log });
  try {
    await connection.connect();
    await connection.consume({ handlers: [], hooks: [], schedules: [], findProvided: () => [] });
    connection.booted(() => undefined);
    return connection;
  } catch (error) {
    await connection.close();
    throw error;
  }
}
