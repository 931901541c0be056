import { Redis } from 'ioredis';
import { until } from '../waiting.js';
import { type PrivateRedis, startRedis } from './redis-server.js';
import { hasReplicas } from './replicated-redis.js';

const SLOTS = 16_384;

/** A node that is alone learns its address from nobody. */
const CLUSTER = ['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1'];

/** A Redis Cluster of a test's own. */
export interface PrivateCluster {
  readonly nodes: { host: string; port: number }[];
  /** The nodes, which a test may end and start again. */
  readonly servers: PrivateRedis[];
  stop(): Promise<void>;
}

/**
 * Starts a cluster of `size` masters without replicas on the loopback interface, each with its share of the slots.
 *
 * @param args options of each node
 * @param envs variables of each node, beside those of this process
 */
export async function startRedisCluster(
  size = 3,
  args: readonly string[] = [],
  envs: readonly NodeJS.ProcessEnv[] = [],
): Promise<PrivateCluster> {
  const servers: PrivateRedis[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.stop()));
  };
  try {
    // One after the other: of several at once, those that started would be lost if one did not.
    while (servers.length < size) servers.push(await startRedis([...CLUSTER, ...args], envs[servers.length]));
    await joinTogether(servers);
  } catch (error) {
    await stop();
    throw error;
  }
  return { nodes: servers.map(({ port }) => ({ host: '127.0.0.1', port })), servers, stop };
}

/**
 * Adds a replica to each master; resolves once they follow. They stop with the cluster.
 *
 * @param args options of each replica
 */
export async function addReplicas(cluster: PrivateCluster, args: readonly string[] = []): Promise<void> {
  const masters = [...cluster.servers];
  for (const { port } of masters) {
    const replica = await startRedis([...CLUSTER, ...args]);
    cluster.servers.push(replica);
    const [client, master] = [new Redis(replica.url), new Redis({ host: '127.0.0.1', port })];
    try {
      await master.config('SET', 'repl-diskless-sync-delay', '0');
      await client.cluster('MEET', '127.0.0.1', port);
      const id = await master.cluster('MYID');
      await until('the replica to know its master', async () => String(await client.cluster('NODES')).includes(id));
      await client.cluster('REPLICATE', id);
    } finally {
      client.disconnect();
      master.disconnect();
    }
    await hasReplicas({ url: `redis://127.0.0.1:${port}` }, 1);
  }
  await knowEachOther(cluster.servers);
}

/** A master that does not know a replica yet would not vote for it. */
async function knowEachOther(servers: readonly PrivateRedis[]): Promise<void> {
  const clients = servers.map(({ url }) => new Redis(url));
  const all = `cluster_known_nodes:${servers.length}\r`;
  try {
    await until('all nodes to know each other', async () => {
      const infos = await Promise.all(clients.map((client) => client.cluster('INFO')));
      return infos.every((info) => info.includes(all));
    });
  } finally {
    for (const client of clients) client.disconnect();
  }
}

async function joinTogether(servers: readonly PrivateRedis[]): Promise<void> {
  const clients = servers.map(({ port }) => new Redis({ host: '127.0.0.1', port }));
  try {
    await Promise.all(clients.map((client, i) => client.cluster('ADDSLOTS', ...slotsOf(i, servers.length))));
    const [first] = servers;
    for (const client of clients.slice(1)) await client.cluster('MEET', '127.0.0.1', first?.port ?? 0);
    await until(
      'all nodes to see a whole cluster',
      async () => {
        const states = await Promise.all(clients.map((client) => client.cluster('INFO')));
        return states.every(
          (state) => state.includes('cluster_state:ok') && state.includes(`cluster_known_nodes:${servers.length}`),
        );
      },
      20_000,
    );
  } finally {
    for (const client of clients) client.disconnect();
  }
}

/** The slots of one node of several, one by one: ranges of them are known to Redis 7 only. */
function slotsOf(node: number, nodes: number): number[] {
  const share = Math.ceil(SLOTS / nodes);
  const first = node * share;
  return Array.from({ length: Math.min(share, SLOTS - first) }, (_, i) => first + i);
}
