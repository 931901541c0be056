import type { EventEmitter } from 'node:events';
import type { ConnectionOptions } from 'node:tls';
import { Cluster, Redis, type ClusterOptions, type RedisOptions } from 'ioredis';
import type { Log } from '../../common/log.js';
import { TimeUp } from '../../common/within.js';
import { ConfigurationError } from '../../errors/configuration.error.js';
import { BrokerUnavailableError } from '../../errors/broker-unavailable.error.js';
import type { DelayQueueError } from '../../errors/delay-queue.error.js';
import { diagnose } from './diagnosis.js';
import { OutageLog } from './outage-log.js';
import { addressOf, clientEndpoints, clusterAddress, databaseOf, isLocal, startupNodesOf } from './redis-address.js';
import {
  isConnectionLoss,
  isRefusedDatabase,
  isReply,
  isTelling,
  textOf,
  toBrokerError,
  withoutSecrets,
} from './redis-errors.js';
import type { RedisSettings } from './redis-settings.js';

export type RedisClient = Redis | Cluster;

/** Oldest Redis that has all commands the scripts use. */
const MIN_VERSION = [6, 2] as const;

/** What is sent must be answered within this time, in milliseconds; else the connection is taken for dead and made anew. */
const SOCKET_TIMEOUT = 10_000;

/** Longest time to find out why a connection fails, in milliseconds. */
const DIAGNOSIS_TIME = 1000;

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
  // Until then nothing is sent but what makes the connection, so that no command goes to a database that was not selected.
  enableReadyCheck: true,
  // ioredis only tells of a SELECT that fails, and goes on in database 0. See docs/decisions/0043.
  reconnectOnError: isRefusedDatabase,
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
  readonly #timeout: number;
  readonly #outage: OutageLog;
  #opening: Promise<void> | undefined;
  #isOpen = false;
  #isRedis7 = false;
  #closing = false;
  readonly #errorListeners = new Set<(error: Error) => void>();

  /**
   * @param timeout longest time until the connections are there, in milliseconds
   * @throws ConfigurationError if the settings have a keyPrefix, or a database that there cannot be
   */
  constructor(settings: RedisSettings, log: Log, timeout: number) {
    this.#timeout = timeout;
    const { commands, subscriber, address } = open(settings);
    assertNoKeyPrefix(commands);
    assertDatabase(commands);
    this.commands = commands;
    this.subscriber = subscriber;
    this.address = address;
    this.#outage = new OutageLog({ address, log, explain: async (error) => this.#explain(error, DIAGNOSIS_TIME) });
    this.#watch(commands, 'commands');
    if (subscriber !== commands) this.#watch(subscriber, 'subscriber');
  }

  /**
   * What a failed command comes to: an error of this library, with the reason the connection gave, if it did. Where it was
   * closed on purpose, the error is not transient: nobody opens it again.
   */
  toError(error: unknown): DelayQueueError {
    if (this.#closing && isConnectionLoss(error)) return this.#closedError(withoutSecrets(error));
    return toBrokerError(isConnectionLoss(error) ? (this.#outage.cause ?? error) : error, this.address);
  }

  /** Whether the server has what came with Redis 7: script flags, and pub/sub that stays on a partition's cluster node. */
  get isRedis7(): boolean {
    return this.#isRedis7;
  }

  /**
   * Connects and looks at the server's version; once, however many ask for it.
   *
   * @throws BrokerUnavailableError where it cannot be reached in time; the message has host and port
   * @throws ConfigurationError where it is older than Redis 6.2, or does not let this connection have its database
   */
  async connect(): Promise<void> {
    this.#opening ??= this.#open();
    await this.#opening;
  }

  /** Whether the connections were made: from then on commands can be sent, though they fail while Redis is away. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /**
   * Resolves once commands can be sent. Who publishes before the module is initialized, in a constructor or a factory, is
   * the one who connects.
   *
   * @throws what {@link connect} throws; BrokerUnavailableError that does not pass, after that
   */
  async ready(): Promise<void> {
    if (this.#closing) throw this.#closedError(undefined);
    await this.connect();
  }

  /**
   * Sends a command, as soon as that can be.
   *
   * @throws BrokerUnavailableError, or what {@link connect} throws
   */
  async send<T>(command: (redis: RedisClient) => Promise<T>): Promise<T> {
    try {
      if (!this.#isOpen) await this.ready();
      return await command(this.commands);
    } catch (error) {
      throw this.toError(error);
    }
  }

  /** The command by which scripts signal; known once connected. */
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

  /** A further client like that for commands, for reads that wait. What its connection fails with, its commands say. */
  duplicate(): RedisClient {
    const client = this.commands.isCluster
      ? (this.commands as Cluster).duplicate()
      : (this.commands as Redis).duplicate();
    client.on('error', (error: Error) => endIfRefused(client, error));
    return client;
  }

  close(): void {
    this.#closing = true;
    this.#outage.close();
    this.commands.disconnect();
    if (this.subscriber !== this.commands) this.subscriber.disconnect();
  }

  async #open(): Promise<void> {
    let hint: Promise<Error | undefined> | undefined;
    // A server that says nothing is looked at before the time is over.
    const timer = setTimeout(() => (hint = this.#explain(this.#outage.cause, this.#timeout / 2)), this.#timeout / 2);
    try {
      await withDeadline(this.#connect(), this.#timeout);
      this.#isOpen = true;
      this.#outage.start();
    } catch (error) {
      const cause = error instanceof ConfigurationError ? error : ((await (hint ?? this.#outage.explained())) ?? error);
      const reason = this.#bootError(cause, error instanceof TimeUp);
      this.close();
      throw reason;
    } finally {
      clearTimeout(timer);
    }
  }

  async #connect(): Promise<void> {
    await Promise.all([...new Set([this.commands, this.subscriber])].map(connected));
    const version = readVersion(await this.commands.info('server'));
    if (version[0] < MIN_VERSION[0] || (version[0] === MIN_VERSION[0] && version[1] < MIN_VERSION[1])) {
      throw new ConfigurationError(
        `Redis at ${this.address} is version ${version.join('.')}; at least ${MIN_VERSION.join('.')} is needed.`,
      );
    }
    this.#isRedis7 = version[0] >= 7;
  }

  /** What the boot fails with: it is read by somebody who may be running this for the first time. */
  #bootError(cause: unknown, isTimeUp: boolean): DelayQueueError {
    if (cause instanceof ConfigurationError) return cause;
    if (isRefusedDatabase(cause)) {
      return new ConfigurationError(`Redis at ${this.address}: ${textOf(withoutSecrets(cause))}.`, { cause });
    }
    if (isReply(cause)) return this.toError(cause);
    const what = isTimeUp ? `gave no answer within ${this.#timeout} ms` : 'cannot be reached';
    const why = cause instanceof TimeUp ? '' : `: ${textOf(withoutSecrets(cause))}`;
    return new BrokerUnavailableError(`Redis at ${this.address} ${what}${why}. ${whatToDo(this.commands, cause)}`, {
      cause,
    });
  }

  #closedError(cause: unknown): BrokerUnavailableError {
    return new BrokerUnavailableError(`The connection to Redis at ${this.address} was closed`, {
      cause,
      transient: false,
    });
  }

  /** What is behind an error of a connection that says little by itself. */
  async #explain(error: Error | undefined, patience: number): Promise<Error | undefined> {
    if (error && isTelling(error)) return error;
    return (await diagnose(clientEndpoints(this.commands), tlsOf(this.commands), patience)) ?? error;
  }

  #watch(client: RedisClient, connection: 'commands' | 'subscriber'): void {
    let isRefused = false;
    client.on('error', (error: Error) => {
      withoutSecrets(error);
      isRefused ||= endIfRefused(client, error);
      // What a cluster says while it serves is of one of its nodes.
      if (!client.isCluster || client.status !== 'ready') this.#outage.failed(connection, error);
      this.tellError(error);
    });
    client.on('close', () => {
      isRefused = false;
      this.#outage.failed(connection);
    });
    client.on('ready', () => {
      if (!isRefused) this.#outage.recovered(connection);
    });
  }
}

function open(settings: RedisSettings): { commands: RedisClient; subscriber: RedisClient; address: string } {
  if (isInstance(settings)) return settings.isCluster ? openCluster(settings as Cluster) : openLike(settings as Redis);
  if (typeof settings === 'object' && 'nodes' in settings) {
    const cluster = new Cluster(settings.nodes, clusterBehaviour(settings.options));
    return { commands: cluster, subscriber: cluster, address: clusterAddress(settings.nodes) };
  }
  const connect = (options: typeof BEHAVIOUR & RedisOptions): Redis =>
    typeof settings === 'string' ? new Redis(settings, options) : new Redis({ ...settings, ...options });
  const commands = connect(BEHAVIOUR);
  return { commands, subscriber: connect(BEHAVIOUR), address: addressOf(commands.options) };
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
  return { commands: cluster, subscriber: cluster, address: clusterAddress(startupNodesOf(template)) };
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

/** Only a number is shown: what is no number may be a part of a password that was not encoded. */
function assertDatabase(client: RedisClient): void {
  const { db = 0 } = (client.isCluster ? (client as Cluster).options.redisOptions : (client as Redis).options) ?? {};
  if (!Number.isInteger(db) || db < 0) {
    throw new ConfigurationError(
      `The database that the option 'redis' names must be a whole number from 0, as in redis://host:6379/2 or db: 2.`,
    );
  }
  const others = client.isCluster ? startupNodesOf(client as Cluster).map(databaseOf) : [];
  const other = [db, ...others].find((database) => database !== 0);
  if (client.isCluster && other !== undefined) {
    throw new ConfigurationError(
      `The option 'redis' names database ${other} of a Redis Cluster, which has database 0 only. Leave the database out, and ` +
        `keep applications apart with the option 'prefix'.`,
    );
  }
}

function readVersion(info: string): [number, number] {
  // Valkey answers with the Redis version it is compatible with.
  const [, major, minor] = /^redis_version:(\d+)\.(\d+)/m.exec(info) ?? [];
  return [Number(major ?? 0), Number(minor ?? 0)];
}

async function withDeadline(promise: Promise<void>, timeout: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TimeUp(timeout)), timeout);
  });
  try {
    await Promise.race([promise, deadline]);
  } finally {
    clearTimeout(timer);
  }
}

/** Resolves once a client is connected; a command of the application may have made it connect already. */
async function connected(client: RedisClient): Promise<void> {
  if (client.status === 'wait') return client.connect();
  if (client.status === 'ready') return undefined;
  const emitter: EventEmitter = client;
  return new Promise((resolve, reject) => {
    emitter.once('ready', resolve);
    emitter.once('close', () => reject(new Error('the connection was closed')));
  });
}

/** Ends a connection that was refused its database, before anything else is sent on it; the next one asks again. */
function endIfRefused(client: RedisClient, error: Error): boolean {
  const isRefused = isRefusedDatabase(error);
  if (isRefused) client.disconnect(true);
  return isRefused;
}

/** The options of TLS with which a client talks to the servers that it asks first. */
function tlsOf(client: RedisClient): ConnectionOptions | undefined {
  if (client.isCluster) return (client as Cluster).options.redisOptions?.tls;
  const { sentinels, sentinelTLS, tls } = (client as Redis).options;
  return sentinels?.length ? sentinelTLS : tls;
}

function whatToDo(client: RedisClient, cause: unknown): string {
  const [endpoint] = clientEndpoints(client);
  const where = "Its address is set by the option 'redis' of DelayQueueModule.forRoot() or createDelayQueueAdmin().";
  const isAbsent = cause instanceof Error && 'code' in cause && cause.code === 'ECONNREFUSED';
  if (!isAbsent || client.isCluster || (client as Redis).options.sentinels || !endpoint || !isLocal(endpoint))
    return where;
  return `${where} To start a Redis there: docker run --rm -p ${endpoint.port}:6379 redis:8, or redis-server --port ${endpoint.port}.`;
}
