import { DelayQueueAdmin } from '../admin/delay-queue.admin.js';
import type { RedisSettings } from '../broker/redis/redis-settings.js';
import { asConfiguration, assertOptions, isPlainObject } from '../checks/validate.js';
import type { PayloadSerializer } from '../messages/serializer.js';
import type { Duration } from '../time/duration.js';
import { RedisBackend } from './backend.js';
import { DelayQueueConnection } from './delay-queue.connection.js';
import type { TopicOptions } from './delay-queue-options.interface.js';
import { type ResolvedOptions, checkOptions, resolveTimeout } from './resolve-options.js';

/**
 * How {@link createDelayQueueAdmin} connects.
 *
 * @publicApi
 */
export interface DelayQueueAdminOptions {
  /** As `redis` of the module's options. @defaultValue 'redis://127.0.0.1:6379' */
  redis?: RedisSettings;
  /** As `prefix` of the module's options. @defaultValue 'dq' */
  prefix?: string;
  /** Longest time for an answer, 1 ms to 1 min. @defaultValue '5s' */
  timeout?: Duration;
  /** As `serializer` of the module's options: without it, payloads that were published with one are not shown. */
  serializer?: PayloadSerializer;
  /** Topics that have a serializer of their own. */
  topics?: Record<string, Pick<TopicOptions, 'serializer'>>;
  /** Where to log trouble with the connection. @defaultValue console */
  log?: { log(message: string): void; warn(message: string): void; error(message: string): void };
}

/**
 * A {@link DelayQueueAdmin} with connections of its own.
 *
 * @publicApi
 */
export class ConnectedDelayQueueAdmin extends DelayQueueAdmin {
  readonly #connection: DelayQueueConnection;

  /** @internal */
  constructor(connection: DelayQueueConnection) {
    super(connection.adminDependencies);
    this.#connection = connection;
  }

  /** Closes its connections. Calls that are under way fail. */
  async close(): Promise<void> {
    await this.#connection.close();
  }
}

/**
 * Connects to the queues of a prefix, to look at them and to act on them without a Nest application: in a script, a
 * dashboard, a job of operations. In an application inject `DelayQueueAdmin` instead.
 *
 * @example
 * ```ts
 * const admin = await createDelayQueueAdmin({ redis: 'redis://localhost:6379' });
 * for (const topic of await admin.topics()) console.log(await admin.stats(topic));
 * await admin.close();
 * ```
 *
 * @throws ConfigurationError if an option is wrong, Redis is too old, or its user may not do what is needed
 * @throws BrokerUnavailableError if Redis cannot be reached within `timeout`
 *
 * @publicApi
 */
export async function createDelayQueueAdmin(options: DelayQueueAdminOptions = {}): Promise<ConnectedDelayQueueAdmin> {
  const resolved = resolveAdminOptions(options);
  const { log = console } = options;
  const connection = await DelayQueueConnection.create({
    name: 'createDelayQueueAdmin',
    options: resolved,
    backend: new RedisBackend(),
    log,
  });
  try {
    await connection.broker.connect();
  } catch (error) {
    await connection.close();
    throw error;
  }
  return new ConnectedDelayQueueAdmin(connection);
}

function resolveAdminOptions(options: DelayQueueAdminOptions): ResolvedOptions {
  return asConfiguration('createDelayQueueAdmin', () => {
    assertOptions('The options', options, ['redis', 'prefix', 'timeout', 'log', 'serializer', 'topics']);
    const { timeout, log: _, topics = {}, ...rest } = options;
    if (isPlainObject(topics)) {
      for (const [topic, own] of Object.entries(topics)) assertOptions(`topics['${topic}']`, own, ['serializer']);
    }
    return checkOptions({ ...rest, topics, publishTimeout: resolveTimeout('timeout', timeout), consumer: false });
  });
}
