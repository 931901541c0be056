import { Cluster, Redis, type ClusterOptions, type RedisOptions } from 'ioredis';
import type { Log } from '../../common/log.js';
import { ConfigurationError } from '../../errors/configuration.error.js';
import { BrokerUnavailableError } from '../../errors/broker-unavailable.error.js';
import { isConnectionLoss, isReadOnly, toBrokerError } from './redis-errors.js';
import { addressOf } from './redis-address.js';
import type { RedisSettings } from './redis-settings.js';

export type RedisClient = Redis | Cluster;

/** Oldest Redis that has all commands the scripts use. */
const MIN_VERSION = [6, 2] as const;

/** What is sent must be answered within this time, in milliseconds; else the connection is taken for dead and made anew. */
const SOCKET_TIMEOUT = 10_000;

/**
 * After the last READONLY, in milliseconds: by then calls go to the primary, and what is signalled comes from there. Signals
 * that were made anew at once could end at the same replica.
 */
const SIGNALS_FOLLOW_AFTER = 500;

/**
 * Calls that a replica refuses within this time, in milliseconds, were sent on the same connection: it takes longer until
 * there is another one.
 */
const LEAVING_TIME = 50;

/** Calls that a replica refuses within this time, in milliseconds, tell of one failover, which is worth one warning. */
const FAILOVER_TIME = 10_000;

/** Replies as ioredis 5 gives them, which does not know the option, whatever an application wants of its own. */
const LEGACY_REPLIES = { replyMapping: 'legacy' } as const;

/**
 * How the module's own connections behave. Commands fail as soon as their connection does, and are never resent behind
 * the caller's back: who sent them knows best whether, how often and until when to repeat them. Reconnecting goes on for
 * ever, at least twice a second, so that a Redis that is back is used within a second.
 */
const BEHAVIOUR = {
  lazyConnect: true,
  // When a connection is closed nothing is awaited any more; a timer would only keep the process from ending.
  disconnectTimeout: 0,
  ...LEGACY_REPLIES,
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  socketTimeout: SOCKET_TIMEOUT,
  // ioredis would subscribe without anybody to catch its failure, which ends the process.
  autoResubscribe: false,
  retryStrategy: (attempt: number): number => Math.min(25 * 2 ** attempt, 400) + Math.random() * 50,
} satisfies RedisOptions;

/** Whether a connection that was answered with this error is to be made anew, in the words of ioredis. */
type ReconnectOnError = NonNullable<RedisOptions['reconnectOnError']>;

function clusterBehaviour(purpose: Purpose, options: ClusterOptions) {
  return {
    ...options,
    lazyConnect: true,
    redisOptions: { ...options.redisOptions, ...LEGACY_REPLIES, socketTimeout: SOCKET_TIMEOUT },
    clusterRetryStrategy: BEHAVIOUR.retryStrategy,
    shardedSubscribers: purpose === 'subscriber',
  } satisfies ClusterOptions;
}

type Purpose = 'commands' | 'subscriber';

/** The two connections of a module: one for commands, and one for the signals of other processes. */
export class RedisConnection {
  readonly commands: RedisClient;
  /** Host and port, for messages. */
  readonly address: string;
  readonly #log: Log;
  readonly #open: (purpose: Purpose) => RedisClient;
  readonly #attachments: ((subscriber: RedisClient) => void)[] = [];
  #subscriber: RedisClient;
  #signalsFollow: NodeJS.Timeout | undefined;
  /** When a call was last refused by a replica, on the clock of `performance`. */
  #readOnlyAt = -Infinity;
  /** When a connection was last left for that, on the same clock. */
  #leftAt = -Infinity;
  #isRedis7 = false;
  #lastError: Error | undefined;
  #closing = false;
  readonly #errorListeners = new Set<(error: Error) => void>();

  constructor(settings: RedisSettings, log: Log) {
    this.#log = log;
    const { open, address } = opener(settings, () => this.#followPrimary());
    this.#open = open;
    this.address = address;
    this.commands = open('commands');
    assertNoKeyPrefix(this.commands);
    this.#subscriber = open('subscriber');
    this.#watch(this.commands);
    this.#watch(this.#subscriber);
  }

  /** The client for signals at this moment; see {@link useSubscriber}. */
  get subscriber(): RedisClient {
    return this.#subscriber;
  }

  /** Calls `attach` with the client for signals, and with each that takes its place. */
  useSubscriber(attach: (subscriber: RedisClient) => void): void {
    this.#attachments.push(attach);
    attach(this.#subscriber);
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
   * @throws ConfigurationError where it is older than Redis 6.2, or a cluster is to be used with an ioredis older than 6
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

  /** A client like that for commands, for whoever would keep other commands waiting. Its errors are its user's business. */
  openAnother(): RedisClient {
    const client = this.#open('commands');
    endSocketTimers(client);
    return client;
  }

  /** The command by which scripts signal. */
  get publishCommand(): 'SPUBLISH' | 'PUBLISH' {
    return this.#isRedis7 ? 'SPUBLISH' : 'PUBLISH';
  }

  /** Whether a connection takes commands; one that is half dead does so too. */
  isUp(connection: Purpose): boolean {
    return !this.#closing && this[connection].status === 'ready';
  }

  /**
   * Ends a connection and makes it anew; what waits for an answer on it fails. One for commands that is not up is being made
   * already. That for signals gets a new client: a client can be in a state in which it subscribes no more, see
   * docs/decisions/0041.
   */
  rebuild(connection: Purpose): void {
    if (this.#closing) return;
    if (connection === 'commands') {
      if (this.isUp('commands')) this.commands.disconnect(true);
      return;
    }
    clearTimeout(this.#signalsFollow);
    this.#subscriber.disconnect();
    this.#subscriber = this.#open('subscriber');
    this.#watch(this.#subscriber);
    for (const attach of this.#attachments) attach(this.#subscriber);
    // Where this fails it is tried again, as on a connection that was lost.
    this.#subscriber.connect().catch(() => {});
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
    clearTimeout(this.#signalsFollow);
    this.commands.disconnect();
    this.#subscriber.disconnect();
  }

  async #connect(): Promise<void> {
    await Promise.all([this.commands, this.#subscriber].map((client) => client.connect()));
    assertFollowsSlots(this.commands);
    const version = readVersion(await this.commands.info('server'));
    if (version[0] < MIN_VERSION[0] || (version[0] === MIN_VERSION[0] && version[1] < MIN_VERSION[1])) {
      throw new ConfigurationError(
        `Redis at ${this.address} is version ${version.join('.')}; at least ${MIN_VERSION.join('.')} is needed.`,
      );
    }
    this.#isRedis7 = version[0] >= 7;
  }

  /**
   * The primary has become a replica, behind an address that leads to another server or will. ioredis makes the connection
   * of the refused call anew; that for signals is never refused anything, so it has to be told.
   *
   * @returns whether the connection of the refused call is to be made anew: once, however many calls are refused on it
   */
  #followPrimary(): boolean {
    if (this.#closing) return false;
    const now = performance.now();
    if (now - this.#readOnlyAt > FAILOVER_TIME) {
      this.#log.warn(`Redis at ${this.address} has become a read-only replica; the connections are made anew`);
    }
    this.#readOnlyAt = now;
    clearTimeout(this.#signalsFollow);
    this.#signalsFollow = setTimeout(() => this.rebuild('subscriber'), SIGNALS_FOLLOW_AFTER);
    if (now - this.#leftAt < LEAVING_TIME) return false;
    this.#leftAt = now;
    return true;
  }

  #watch(client: RedisClient): void {
    client.on('error', (error: Error) => {
      // Of a client whose place was taken nothing is of interest any more.
      if (client !== this.commands && client !== this.#subscriber) return;
      const isNew = error.message !== this.#lastError?.message;
      this.#lastError = error;
      if (isNew && !this.#closing) this.#log.warn(`Redis at ${this.address}: ${error.message || error.name}`);
      this.tellError(error);
    });
    endSocketTimers(client);
    client.on('ready', () => {
      if (this.#lastError) this.#log.log(`Redis at ${this.address} is back`);
      this.#lastError = undefined;
    });
  }
}

/** What makes a client for either purpose, and where it leads. */
interface Opener {
  readonly open: (purpose: Purpose) => RedisClient;
  readonly address: string;
}

/**
 * @param onReadOnly told when a call is refused since it has reached a replica; says whether to make its connection anew
 */
function opener(settings: RedisSettings, onReadOnly: () => boolean): Opener {
  const reconnecting = (given: RedisOptions = {}): { reconnectOnError: ReconnectOnError } => ({
    reconnectOnError: (error) => (isReadOnly(error) ? onReadOnly() : (given.reconnectOnError?.(error) ?? false)),
  });
  const behaviour = (given?: RedisOptions) => ({ ...BEHAVIOUR, ...reconnecting(given) });
  const clusterOptions = (purpose: Purpose, given: ClusterOptions = {}) =>
    clusterBehaviour(purpose, {
      ...given,
      redisOptions: { ...given.redisOptions, ...reconnecting(given.redisOptions) },
    });

  if (typeof settings === 'string') {
    return { open: () => new Redis(settings, behaviour()), address: addressOf(settings) };
  }
  if (isInstance(settings) && settings.isCluster) {
    const cluster = settings as Cluster;
    return {
      open: (purpose) => cluster.duplicate([], clusterOptions(purpose, cluster.options)),
      address: `cluster ${cluster
        .nodes('all')
        .map(({ options }) => addressOf(options))
        .join(', ')}`,
    };
  }
  if (isInstance(settings)) {
    const redis = settings as Redis;
    return { open: () => redis.duplicate(behaviour(redis.options)), address: addressOf(redis.options) };
  }
  if ('nodes' in settings) {
    return {
      open: (purpose) => new Cluster(settings.nodes, clusterOptions(purpose, settings.options)),
      address: `cluster ${JSON.stringify(settings.nodes)}`,
    };
  }
  return { open: () => new Redis({ ...settings, ...behaviour(settings) }), address: addressOf(settings) };
}

/** Not `instanceof`: the application may use another copy of ioredis than this module. */
function isInstance(settings: RedisSettings): settings is Redis | Cluster {
  return typeof settings === 'object' && 'duplicate' in settings && typeof settings.duplicate === 'function';
}

/**
 * ioredis 5 does not end the timer of `socketTimeout` with the connection that it was set for: it would keep the process from
 * ending, and cut the next connection.
 */
function endSocketTimers(client: RedisClient): void {
  const holder = client as unknown as { socketTimeoutTimer?: NodeJS.Timeout | undefined };
  client.on('close', () => {
    clearTimeout(holder.socketTimeoutTimer);
    holder.socketTimeoutTimer = undefined;
  });
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

/**
 * ioredis 6 is told by its connections, which choose a protocol; the number of its version is in its package.json alone, which
 * a bundler leaves out. A node of the client is looked at, since the client may be of another copy than this module's.
 *
 * @throws ConfigurationError if the client is of an older version
 */
function assertFollowsSlots(client: RedisClient): void {
  if (!client.isCluster) return;
  const [node] = (client as Cluster).nodes('all');
  if (!node || 'protocol' in node.options) return;
  throw new ConfigurationError(
    'A Redis Cluster needs ioredis 6 or newer, and this client is of an older one, which does not notice that a slot it ' +
      'listens to has moved to another node. Install ioredis@6; if you gave the module a Cluster, make it with that.',
  );
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
