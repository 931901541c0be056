import { once } from 'node:events';
import type { ConnectionOptions } from 'node:tls';
import type { Cluster, ClusterOptions, Redis, RedisOptions } from 'ioredis';
import { ConfigurationError } from '../../../errors/options.errors.js';
import { addressOf, clientEndpoints, clusterAddress, databaseOf, startupNodesOf } from './redis-address.js';
import { CONNECTION_CLOSED, isOfAllSentinels, isOfReplica, isRefusedDatabase } from './redis-errors.js';
import type { RedisSettings } from './which-redis.js';

/**
 * Returns a stand-in for the ioredis client where there is no Redis. Providers that only hold it work; those that use it get an error that
 * says why that is not possible.
 *
 * @param why as a sentence
 */
export async function noRedis(why: string): Promise<object> {
  const { Redis } = await loadIoRedis();
  return new Proxy(
    {},
    {
      get(target, property) {
        if (property in target || !(property in Redis.prototype)) return Reflect.get(target, property) as unknown;
        throw new ConfigurationError(`DELAY_QUEUE_REDIS has no '${String(property)}': ${why}`);
      },
    },
  );
}

export type RedisClient = Redis | Cluster;

/** Parts of ioredis in use. It takes longer to load than all else, so it is handed over once it is needed. */
export type IoRedis = Pick<typeof import('ioredis'), 'Cluster' | 'Command' | 'Redis'>;

/** Loads ioredis, only when a connection is made: importing the library takes a third of the time. */
export async function loadIoRedis(): Promise<IoRedis> {
  // So that webpack, and what is built on it, keeps everything in one file.
  return import(/* webpackMode: "eager" */ 'ioredis');
}

/** Purpose of a client; the signals of other processes need one of their own. */
export type Purpose = 'commands' | 'subscriber';

/** Longest time until a command is answered, in milliseconds; after that the connection is taken for dead and made anew. */
const SOCKET_TIMEOUT = 10_000;

/** The same for a connection on which Redis waits for replicas, as long as a publish may take: 60 s. */
const WAITING_SOCKET_TIMEOUT = 60_000 + SOCKET_TIMEOUT;

/** Time after which a Sentinel that hangs is passed over, in milliseconds; ioredis would wait for it for ever. */
const SENTINEL_TIMEOUT = 2000;

/** Pause between two tries to connect to a Sentinel that is only listened to, in milliseconds. */
const SENTINEL_PAUSE = 1000;

/** Silence of a Sentinel after which its connection is tested, in milliseconds. */
const SENTINEL_KEEP_ALIVE = 30_000;

/** Replies in the form of ioredis 5, which does not know the option, whatever an application sets for itself. */
const LEGACY_REPLIES = { replyMapping: 'legacy' } as const;

/**
 * Behaviour of the module's own connections. Commands fail as soon as their connection does, and are never resent behind
 * the caller's back: the caller knows best whether, how often and until when to repeat them. Reconnecting goes on for
 * ever, at least twice a second, so that a Redis that is back is used within a second.
 */
const BEHAVIOUR = {
  lazyConnect: true,
  // A closed connection awaits nothing any more; a timer would only keep the process from ending.
  disconnectTimeout: 0,
  ...LEGACY_REPLIES,
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  socketTimeout: SOCKET_TIMEOUT,
  // ioredis would subscribe without catching a failure, which ends the process.
  autoResubscribe: false,
  // One watch per process serves all of its connections; ioredis would have each listen to every Sentinel. See docs/decisions/0040.
  failoverDetector: false,
  sentinelCommandTimeout: SENTINEL_TIMEOUT,
  // Until then nothing is sent but what makes the connection, so that no command goes to a database that was not selected.
  enableReadyCheck: true,
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
    // As on a single connection: ioredis would retry what was lost 16 times, at any node, while the caller waits.
    retryDelayOnFailover: 0,
    shardedSubscribers: purpose === 'subscriber',
  } satisfies ClusterOptions;
}

/** Makes a client for either purpose. */
export type OpenClient = (purpose: Purpose) => RedisClient;

/**
 * @param onReplica called when a call is refused since it has reached a replica; says whether to make its connection anew
 */
export function clientsOf(ioredis: IoRedis, settings: RedisSettings, onReplica: () => boolean): OpenClient {
  const reconnecting = (given: RedisOptions = {}): { reconnectOnError: ReconnectOnError } => ({
    reconnectOnError: (error) => {
      if (isOfReplica(error)) return onReplica();
      // ioredis only tells of a SELECT that fails, and goes on in database 0. See docs/decisions/0009.
      return isRefusedDatabase(error) || (given.reconnectOnError?.(error) ?? false);
    },
  });
  const behaviour = (given?: RedisOptions) => ({ ...BEHAVIOUR, ...reconnecting(given) });
  const clusterOptions = (purpose: Purpose, given: ClusterOptions = {}) =>
    clusterBehaviour(purpose, {
      ...given,
      redisOptions: { ...given.redisOptions, ...reconnecting(given.redisOptions) },
    });

  if (typeof settings === 'string') return () => new ioredis.Redis(settings, behaviour());
  if (isInstance(settings) && settings.isCluster) {
    const cluster = settings as Cluster;
    return (purpose) => cluster.duplicate([], clusterOptions(purpose, cluster.options));
  }
  if (isInstance(settings)) {
    const redis = settings as Redis;
    return () => redis.duplicate(behaviour(redis.options));
  }
  if ('nodes' in settings) {
    return (purpose) => new ioredis.Cluster(settings.nodes, clusterOptions(purpose, settings.options));
  }
  return () => new ioredis.Redis({ ...settings, ...behaviour(settings) });
}

/** See {@link RedisConnection.openForReplicas}. */
export function openForReplicas(template: Redis): Redis {
  const { retryStrategy } = template.options;
  return template.duplicate({
    ...BEHAVIOUR,
    retryStrategy: retryStrategy ?? (() => null),
    enableAutoPipelining: false,
    socketTimeout: WAITING_SOCKET_TIMEOUT,
  });
}

/** Returns clients that listen to the Sentinels of a client, one for each. */
export function sentinelsOf(ioredis: IoRedis, client: RedisClient): Redis[] {
  if (client.isCluster) return [];
  const { sentinels, sentinelUsername, sentinelPassword, sentinelTLS, family, connectTimeout, protocol } = (
    client as Redis
  ).options;
  if (!sentinels?.length) return [];
  const options = {
    ...BEHAVIOUR,
    enableReadyCheck: false,
    retryStrategy: () => SENTINEL_PAUSE,
    keepAlive: SENTINEL_KEEP_ALIVE,
    family,
    connectTimeout,
    protocol,
    username: sentinelUsername,
    password: sentinelPassword,
    tls: sentinelTLS,
  } satisfies RedisOptions;
  return clientEndpoints(client).map((endpoint) => {
    const sentinel = new ioredis.Redis({ ...options, ...endpoint });
    endSocketTimers(sentinel);
    // The connections that serve say why there is no primary.
    sentinel.on('error', () => {});
    return sentinel;
  });
}

/** Returns where a client leads: host and port, for messages. */
export function addressOfClient(client: RedisClient): string {
  return client.isCluster ? clusterAddress(startupNodesOf(client as Cluster)) : addressOf((client as Redis).options);
}

/** Not `instanceof`: the application may use another copy of ioredis than this module. */
function isInstance(settings: RedisSettings): settings is Redis | Cluster {
  return typeof settings === 'object' && 'duplicate' in settings && typeof settings.duplicate === 'function';
}

/**
 * ioredis 5 does not end the timer of `socketTimeout` with the connection that it was set for: it would keep the process from
 * ending, and cut the next connection.
 */
export function endSocketTimers(client: RedisClient): void {
  const holder = client as unknown as { socketTimeoutTimer?: NodeJS.Timeout | undefined };
  client.on('close', () => {
    clearTimeout(holder.socketTimeoutTimer);
    holder.socketTimeoutTimer = undefined;
  });
}

/** Ends a connection that was refused its database, before anything else is sent on it; the next one asks again. */
export function endIfRefused(client: RedisClient, error: Error): boolean {
  const isRefused = isRefusedDatabase(error);
  if (isRefused) client.disconnect(true);
  return isRefused;
}

/** @throws ConfigurationError if the client has a prefix of keys */
export function assertNoKeyPrefix(client: RedisClient): void {
  const options = client.isCluster
    ? { ...(client as Cluster).options.redisOptions, ...(client as Cluster).options }
    : (client as Redis).options;
  const { keyPrefix } = options;
  if (keyPrefix) {
    throw new ConfigurationError(
      `The Redis option keyPrefix ('${keyPrefix}') is not supported, since channels would not have it. ` +
        `Use the module's option 'prefix' instead.`,
    );
  }
}

/**
 * Checks the database of a client. Its error shows only a number: anything else may be part of a password that was not encoded.
 *
 * @throws ConfigurationError if the client is to use a database that there cannot be
 */
export function assertDatabase(client: RedisClient): void {
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

/**
 * Recognizes ioredis 6 by its connections, which choose a protocol; the number of its version is in its package.json alone, which
 * a bundler leaves out. It looks at a node of the client, since the client may be of another copy than this module's.
 *
 * @throws ConfigurationError if the client is of an older version
 */
export function assertFollowsSlots(client: RedisClient): void {
  if (!client.isCluster) return;
  const [node] = (client as Cluster).nodes('all');
  if (!node || 'protocol' in node.options) return;
  throw new ConfigurationError(
    'A Redis Cluster needs ioredis 6 or newer, and this client is of an older one, which does not notice that a slot it ' +
      'listens to has moved to another node. Install ioredis@6; if you gave the module a Cluster, make it with that.',
  );
}

/**
 * Resolves unless a client's Sentinels are asked for the primary in vain: ioredis keeps what is sent meanwhile, and answers
 * nothing until they know one.
 *
 * @throws the error of the Sentinels
 */
export async function primaryKnown(client: RedisClient): Promise<void> {
  if (client.isCluster || client.status === 'ready' || !(client as Redis).options.sentinels?.length) return;
  const waiting = new AbortController();
  const { signal } = waiting;
  const closed = once(client, 'close', { signal }).then(() => Promise.reject(new Error(CONNECTION_CLOSED)));
  await Promise.race([once(client, 'ready', { signal }), closed]).finally(() => waiting.abort());
}

/**
 * Recognizes errors of a client that say by mistake that no Sentinel helps: ioredis asks them in a circle, a further one for each
 * connection, and says so whenever it begins again with the first.
 */
export function falseAlarmsOf(client: RedisClient): (error: Error) => boolean {
  const sentinels = client.isCluster ? 0 : ((client as Redis).options.sentinels?.length ?? 0);
  let inVain = 0;
  client.on('sentinelError', () => inVain++);
  client.on('ready', () => (inVain = 0));
  return (error) => isOfAllSentinels(error) && inVain < sentinels;
}

/** Returns the TLS options with which a client talks to the servers that it asks first. */
export function tlsOf(client: RedisClient): ConnectionOptions | undefined {
  if (client.isCluster) return (client as Cluster).options.redisOptions?.tls;
  const { sentinels, sentinelTLS, tls } = (client as Redis).options;
  return sentinels?.length ? sentinelTLS : tls;
}
