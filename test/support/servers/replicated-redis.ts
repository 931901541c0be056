import { Redis } from 'ioredis';
import { until } from '../waiting.js';
import { type PrivateRedis, startRedis } from './redis-server.js';

/** So that a replica is there as soon as it has asked for the data. */
const AT_ONCE = ['--repl-diskless-sync-delay', '0'];

/** A primary with replicas of a test's own. */
export interface ReplicatedRedis {
  readonly primary: PrivateRedis;
  readonly replicas: readonly PrivateRedis[];
  stop(): Promise<void>;
}

/** Starts a primary with so many replicas; resolves once they follow it. */
export async function startReplicated(count = 2): Promise<ReplicatedRedis> {
  const servers = [await startRedis(AT_ONCE)];
  const [primary] = servers as [PrivateRedis];
  const stop = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.stop()));
  };
  try {
    while (servers.length <= count) servers.push(await startReplica(primary));
    await hasReplicas(primary, count);
  } catch (error) {
    await stop();
    throw error;
  }
  return { primary, replicas: servers.slice(1), stop };
}

export async function startReplica({ port }: PrivateRedis): Promise<PrivateRedis> {
  return startRedis([...AT_ONCE, '--replicaof', '127.0.0.1', String(port)]);
}

/** Resolves once so many replicas have all data of a primary and follow it. */
export async function hasReplicas(primary: Pick<PrivateRedis, 'url'>, count: number): Promise<void> {
  const redis = new Redis(primary.url);
  try {
    await until(
      `${count} replicas to follow`,
      async () =>
        ((await redis.info('replication')).match(/^slave\d+:.*state=online.*lag=[01]\b/gm) ?? []).length >= count,
    );
  } finally {
    redis.disconnect();
  }
}
