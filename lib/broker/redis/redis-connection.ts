import { Cluster, Redis, type ClusterOptions, type RedisOptions } from 'ioredis';
import type { Log } from '../../common/log.js';
import { ConfigurationError } from '../../errors/configuration.error.js';
import { BrokerUnavailableError } from '../../errors/broker-unavailable.error.js';
import { isConnectionLoss, toBrokerError } from './redis-errors.js';
import { addressOf } from './redis-address.js';
import type { RedisSettings } from './redis-settings.js';

export type RedisClient = Redis | Cluster;

/** Oldest Redis that has all commands the scripts use. */
const MIN_VERSION = [6, 2] as const;

/** What is sent must be answered within this time, in milliseconds; else the connection is taken for dead and made anew. */
const SOCKET_TIMEOUT = 10_000;

/**
 * How the module's own connections behave. Commands fail as soon as their connection does, and are never resent behind
 * the caller's back: who sent them knows best whether, how often and until when to repeat them. Reconnecting goes on for
 * ever, at least twice a second, so that a Redis that is back is used within a second.
 */
const BEHAVIOUR = {
  lazyConnect: true,
  // When a connection is closed nothing is awaited any more; a timer would only keep the process from ending.
  disconnectTimeout: 0,
  replyMapping: 'legacy',
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  socketTimeout: SOCKET_TIMEOUT,
  // ioredis would subscribe without anybody to catch its failure, which ends the process.
  autoResubscribe: false,
  retryStrategy: (attempt: number): number => Math.min(25 * 2 ** attempt, 400) + Math.random() * 50,
} satisfies RedisOptions;

function clusterBehaviour(options: ClusterOptions = {}) {
  return {
    ...options,
    lazyConnect: true,
    redisOptions: {
      ...options.redisOptions,
      replyMapping: BEHAVIOUR.replyMapping,
      socketTimeout: SOCKET_TIMEOUT,
    },
    clusterRetryStrategy: BEHAVIOUR.retryStrategy,
    shardedSubscribers: true,
  } satisfies ClusterOptions;
}

/** The two connections of a module: one for commands, and one for the signals of other processes. */
export class RedisConnection {
  readonly commands: RedisClient;
  readonly subscriber: RedisClient;
  /** Host and port, for messages. */
  readonly address: string;
  readonly #log: Log;
  #isRedis7 = false;
  #lastError: Error | undefined;
  #closing = false;
  readonly #errorListeners = new Set<(error: Error) => void>();

  constructor(settings: RedisSettings, log: Log) {
    this.#log = log;
    const { commands, subscriber, address } = open(settings);
    assertNoKeyPrefix(commands);
    this.commands = commands;
    this.subscriber = subscriber;
    this.address = address;
    for (const client of new Set([commands, subscriber])) this.#watch(client);
  }

  /**
   * What a failed command comes to: an error of this library, with the reason the connection gave, if it did. Where it was
   * closed on purpose, the error is not transient: nobody opens it again.
   */
  toError(error: unknown): BrokerUnavailableError {
    if (this.#closing && isConnectionLoss(error)) {
      return new BrokerUnavailableError(`The connection to Redis at ${this.address} was closed`, {
        cause: error,
        transient: false,
      });
    }
    return toBrokerError(isConnectionLoss(error) ? (this.#lastError ?? error) : error, this.address);
  }

  /** Whether the server has what came with Redis 7: script flags, and pub/sub that stays on a partition's cluster node. */
  get isRedis7(): boolean {
    return this.#isRedis7;
  }

  /**
   * Connects and looks at the server's version.
   *
   * @param timeout milliseconds
   * @throws BrokerUnavailableError where it cannot be reached in time; the message has host and port
   * @throws ConfigurationError where it is older than Redis 6.2
   */
  async connect(timeout: number): Promise<void> {
    try {
      await withDeadline(`Redis at ${this.address}`, this.#connect(), timeout);
    } catch (error) {
      const reason = error instanceof ConfigurationError ? error : this.toError(this.#lastError ?? error);
      this.close();
      throw reason;
    }
  }

  /** The command by which scripts signal. */
  get publishCommand(): 'SPUBLISH' | 'PUBLISH' {
    return this.#isRedis7 ? 'SPUBLISH' : 'PUBLISH';
  }

  /** Whether a connection takes commands; one that is half dead does so too. */
  isUp(connection: 'commands' | 'subscriber'): boolean {
    return !this.#closing && this[connection].status === 'ready';
  }

  /** Ends a connection and makes it anew; what waits for an answer on it fails. One that is not up is being made already. */
  rebuild(connection: 'commands' | 'subscriber'): void {
    if (this.isUp(connection)) this[connection].disconnect(true);
  }

  /** Calls the listener with each error that nobody waits for, until the connections are closed. */
  onError(listener: (error: Error) => void): () => void {
    this.#errorListeners.add(listener);
    return () => this.#errorListeners.delete(listener);
  }

  /** To be called with an error that no call is answered with. */
  tellError(error: Error): void {
    if (this.#closing) return;
    for (const listener of this.#errorListeners) listener(error);
  }

  close(): void {
    this.#closing = true;
    this.commands.disconnect();
    if (this.subscriber !== this.commands) this.subscriber.disconnect();
  }

  async #connect(): Promise<void> {
    await Promise.all([...new Set([this.commands, this.subscriber])].map((client) => client.connect()));
    const version = readVersion(await this.commands.info('server'));
    if (version[0] < MIN_VERSION[0] || (version[0] === MIN_VERSION[0] && version[1] < MIN_VERSION[1])) {
      throw new ConfigurationError(
        `Redis at ${this.address} is version ${version.join('.')}; at least ${MIN_VERSION.join('.')} is needed.`,
      );
    }
    this.#isRedis7 = version[0] >= 7;
  }

  #watch(client: RedisClient): void {
    client.on('error', (error: Error) => {
      const isNew = error.message !== this.#lastError?.message;
      this.#lastError = error;
      if (isNew && !this.#closing) this.#log.warn(`Redis at ${this.address}: ${error.message || error.name}`);
      this.tellError(error);
    });
    client.on('ready', () => {
      if (this.#lastError) this.#log.log(`Redis at ${this.address} is back`);
      this.#lastError = undefined;
    });
  }
}

function open(settings: RedisSettings): { commands: RedisClient; subscriber: RedisClient; address: string } {
  if (isInstance(settings)) return settings.isCluster ? openCluster(settings as Cluster) : openLike(settings as Redis);
  if (typeof settings === 'object' && 'nodes' in settings) {
    const cluster = new Cluster(settings.nodes, clusterBehaviour(settings.options));
    return { commands: cluster, subscriber: cluster, address: `cluster ${JSON.stringify(settings.nodes)}` };
  }
  const connect = (options: typeof BEHAVIOUR & RedisOptions): Redis =>
    typeof settings === 'string' ? new Redis(settings, options) : new Redis({ ...settings, ...options });
  return {
    commands: connect(BEHAVIOUR),
    subscriber: connect(BEHAVIOUR),
    address: addressOf(settings),
  };
}

function openLike(template: Redis): ReturnType<typeof open> {
  return {
    commands: template.duplicate(BEHAVIOUR),
    subscriber: template.duplicate(BEHAVIOUR),
    address: addressOf(template.options),
  };
}

function openCluster(template: Cluster): ReturnType<typeof open> {
  const cluster = template.duplicate([], clusterBehaviour(template.options));
  const nodes = template.nodes('all').map(({ options }) => addressOf(options));
  return { commands: cluster, subscriber: cluster, address: `cluster ${nodes.join(', ')}` };
}

/** Not `instanceof`: the application may use another copy of ioredis than this module. */
function isInstance(settings: RedisSettings): settings is Redis | Cluster {
  return typeof settings === 'object' && 'duplicate' in settings && typeof settings.duplicate === 'function';
}

function assertNoKeyPrefix(client: RedisClient): void {
  const options = client instanceof Cluster ? { ...client.options.redisOptions, ...client.options } : client.options;
  const { keyPrefix } = options;
  if (keyPrefix) {
    throw new ConfigurationError(
      `The Redis option keyPrefix ('${keyPrefix}') is not supported, since channels would not have it. ` +
        `Use the module's option 'prefix' instead.`,
    );
  }
}

function readVersion(info: string): [number, number] {
  // Valkey answers with the Redis version it is compatible with.
  const [, major, minor] = /^redis_version:(\d+)\.(\d+)/m.exec(info) ?? [];
  return [Number(major ?? 0), Number(minor ?? 0)];
}

async function withDeadline<T>(what: string, promise: Promise<T>, timeout: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new BrokerUnavailableError(`${what} gave no answer within ${timeout} ms`)),
      timeout,
    );
  });
  try {
    return await Promise.race([promise, deadline]);
  } finally {
    clearTimeout(timer);
  }
}
