import { DelayQueueAdmin } from '../admin/delay-queue.admin.js';
import type { DoctorReport } from '../admin/doctor.js';
import type { RedisSettings } from '../engines/redis/connection/which-redis.js';
import { isPlainObject } from '../checks/kinds.js';
import { asConfiguration, assertOptions } from '../checks/validate.js';
import type { DelayQueueEvents } from '../events/delay-queue.events.js';
import type { DelayQueueSchedules } from '../schedules/delay-queue.schedules.js';
import type { PayloadSerializer } from '../messages/serializer.js';
import type { Duration } from '../time/duration.js';
import { SystemBackend } from './backend.js';
import { DelayQueueConnection } from './delay-queue.connection.js';
import type { TopicOptions } from './delay-queue-options.interface.js';
import { CALL_TIMEOUT } from './option-rules.js';
import { type ResolvedOptions, checkOptions } from './resolve-options.js';

/**
 * Connection options of {@link createDelayQueueAdmin} and {@link checkRedis}.
 *
 * @publicApi
 */
export interface DelayQueueAdminOptions {
  /** Same as `redis` in the module's options. @defaultValue 'redis://127.0.0.1:6379' */
  redis?: RedisSettings;
  /** Same as `prefix` in the module's options. @defaultValue 'dq' */
  prefix?: string;
  /** Time limit for an answer, 1 ms to 1 min. @defaultValue '5s' */
  timeout?: Duration;
  /** Same as `serializer` in the module's options: without it, payloads that were published with one are not shown. */
  serializer?: PayloadSerializer;
  /** Topics that have a serializer of their own. */
  topics?: Record<string, Pick<TopicOptions, 'serializer'>>;
  /** Log for problems with the connection. @defaultValue console */
  log?: { log(message: string): void; warn(message: string): void; error(message: string): void };
}

/**
 * A {@link DelayQueueAdmin} with connections of its own.
 *
 * @publicApi
 */
export class ConnectedDelayQueueAdmin extends DelayQueueAdmin {
  /** Access to the schedules. */
  readonly schedules: DelayQueueSchedules;
  /** Events; `fleet` has those of the processes that publish theirs. */
  readonly events: DelayQueueEvents;
  readonly #connection: DelayQueueConnection;

  /** @internal */
  constructor(connection: DelayQueueConnection) {
    super(connection.adminDependencies);
    this.schedules = connection.schedules;
    this.events = connection.events;
    this.#connection = connection;
  }

  /** Closes its connections. Calls under way fail. */
  async close(): Promise<void> {
    await this.#connection.close();
  }
}

/**
 * Connects to the queues of a prefix, to inspect and manage them without a Nest application: in a script, a dashboard, an operations job.
 * In an application inject `DelayQueueAdmin` instead.
 *
 * @example
 * ```ts
 * const admin = await createDelayQueueAdmin({ redis: 'redis://localhost:6379' });
 * for (const topic of await admin.topics()) console.log(await admin.stats(topic));
 * await admin.close();
 * ```
 *
 * @throws ConfigurationError if an option is wrong, Redis is too old, or its user lacks a needed right
 * @throws BrokerUnavailableError if Redis cannot be reached within `timeout`
 *
 * @publicApi
 */
export async function createDelayQueueAdmin(options: DelayQueueAdminOptions = {}): Promise<ConnectedDelayQueueAdmin> {
  const connection = await openConnection('createDelayQueueAdmin', options);
  try {
    await connection.broker.connect();
  } catch (error) {
    await connection.close();
    throw error;
  }
  return new ConnectedDelayQueueAdmin(connection);
}

/**
 * Examines a Redis as `DelayQueueAdmin.doctor()` does, even one that no application boots on: too old, without the needed rights, a
 * replica, or unreachable.
 *
 * @example
 * ```ts
 * const { findings } = await checkRedis({ redis: 'redis://localhost:6379' });
 * process.exitCode = findings.some(({ level }) => level === 'error') ? 1 : 0;
 * ```
 *
 * @throws ConfigurationError if an option is wrong
 *
 * @publicApi
 */
export async function checkRedis(options: DelayQueueAdminOptions = {}): Promise<DoctorReport> {
  const connection = await openConnection('checkRedis', options);
  try {
    return await connection.admin.doctor();
  } finally {
    await connection.close();
  }
}

/**
 * Creates a connection that consumes nothing and is not connected yet.
 *
 * @param name the caller's name in error messages
 * @throws ConfigurationError if an option is wrong
 */
export async function openConnection(name: string, options: DelayQueueAdminOptions): Promise<DelayQueueConnection> {
  const resolved = resolveAdminOptions(name, options);
  const { log = console } = options;
  return DelayQueueConnection.create({ name, options: resolved, backend: new SystemBackend(), log, role: 'operator' });
}

function resolveAdminOptions(name: string, options: DelayQueueAdminOptions): ResolvedOptions {
  return asConfiguration(name, () => {
    assertOptions('The options', options, ['redis', 'prefix', 'timeout', 'log', 'serializer', 'topics']);
    const { timeout, log: _, topics = {}, ...rest } = options;
    if (isPlainObject(topics)) {
      for (const [topic, own] of Object.entries(topics)) assertOptions(`topics['${topic}']`, own, ['serializer']);
    }
    return checkOptions({ ...rest, topics, publishTimeout: CALL_TIMEOUT('timeout', timeout), consumer: false });
  });
}
