import { until } from '../waiting.js';
import type { PrivateRedis } from './redis-server.js';

/** Waits until a primary has this many replicas that have all of its data. */
export async function replicasCaughtUp(primary: PrivateRedis, replicas = 1): Promise<void> {
  await until('the replicas to have caught up', async () => (await replicasOf(primary)) >= replicas, 30_000);
}

/** How many replicas of a primary have all of its data. */
export async function replicasOf(primary: PrivateRedis): Promise<number> {
  const info = await replicationOf(primary);
  return info.match(/^slave\d+:.*state=online.*lag=[01]\b/gm)?.length ?? 0;
}

/** Makes a replica that has caught up the primary, and the primary its replica; nothing is lost. */
export async function swapRoles(primary: PrivateRedis, replica: PrivateRedis): Promise<void> {
  await replicasCaughtUp(primary);
  await primary.ask(async (client) => client.call('FAILOVER', 'TO', '127.0.0.1', replica.port));
  await until('the replica to be the primary', async () => (await roleOf(replica)) === 'master');
  await until('the primary to be a replica', async () => (await roleOf(primary)) === 'slave');
}

/** What a server takes itself for; `undefined` if it does not say, since it is changing its role. */
export async function roleOf(server: PrivateRedis): Promise<'master' | 'slave' | undefined> {
  const info = await replicationOf(server);
  return /^role:(master|slave)/m.exec(info)?.[1] as 'master' | 'slave' | undefined;
}

/** Nothing if the connection ends: Sentinels end those of a server whose role they change. */
async function replicationOf(server: PrivateRedis): Promise<string> {
  return server.ask(async (client) => client.info('replication')).catch(() => '');
}
