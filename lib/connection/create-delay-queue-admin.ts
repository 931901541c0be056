import { type AdminDependencies, DelayQueueAdmin } from '../admin/delay-queue.admin.js';
import type { RedisSettings } from '../broker/redis/redis-settings.js';
import { createRedisBroker } from '../broker/redis/redis.broker.js';
import { SystemClock } from '../time/clock.js';
import type { Duration } from '../time/duration.js';
import type { TopicOptions } from './delay-queue-options.interface.js';
import type { PayloadSerializer } from '../messages/serializer.js';
import { resolveAdminOptions } from './resolve-admin-options.js';

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
  /** Told of trouble with the connection. @defaultValue console */
  log?: { log(message: string): void; warn(message: string): void; error(message: string): void };
}

/**
 * A {@link DelayQueueAdmin} with connections of its own.
 *
 * @publicApi
 */
export class ConnectedDelayQueueAdmin extends DelayQueueAdmin {
  readonly #close: () => Promise<void>;

  /** @internal */
  constructor(dependencies: AdminDependencies) {
    super(dependencies);
    const { broker } = dependencies;
    this.#close = () => broker.close();
  }

  /** Closes its connections. Calls that are under way fail. */
  async close(): Promise<void> {
    await this.#close();
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
 * @throws ConfigurationError where an option is wrong, Redis is too old, or its user may not do what is needed
 * @throws BrokerUnavailableError where Redis cannot be reached within `timeout`
 *
 * @publicApi
 */
export async function createDelayQueueAdmin(options: DelayQueueAdminOptions = {}): Promise<ConnectedDelayQueueAdmin> {
  const { redis, prefix, timeout, log, serializerOf } = resolveAdminOptions(options);
  const clock = new SystemClock();
  const broker = await createRedisBroker({ redis, prefix, connectTimeout: timeout, clock, log });
  try {
    await broker.connect();
  } catch (error) {
    await broker.close();
    throw error;
  }
  return new ConnectedDelayQueueAdmin({ broker, clock, timeout, serializerOf });
}
