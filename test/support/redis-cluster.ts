import { Redis } from 'ioredis';
import { eventually } from './eventually.js';
import { type PrivateRedis, startRedis } from './redis-server.js';

const SLOTS = 16_384;

/** A Redis Cluster of a test's own. */
export interface PrivateCluster {
  readonly nodes: { host: string; port: number }[];
  /** The nodes, which a test may end and start again. */
  readonly servers: readonly PrivateRedis[];
  stop(): Promise<void>;
}

/**
 * Starts a cluster of `size` masters without replicas on the loopback interface, each with its share of the slots.
 *
 * @param args options of each node
 */
export async function startRedisCluster(size = 3, args: readonly string[] = []): Promise<PrivateCluster> {
  const servers = await Promise.all(
    Array.from({ length: size }, () => startRedis(['--cluster-enabled', 'yes', ...args])),
  );
  const clients = servers.map(({ port }) => new Redis({ host: '127.0.0.1', port }));
  try {
    await joinTogether(servers, clients);
  } finally {
    for (const client of clients) client.disconnect();
  }
  return {
    nodes: servers.map(({ port }) => ({ host: '127.0.0.1', port })),
    servers,
    stop: async () => {
      await Promise.all(servers.map((server) => server.stop()));
    },
  };
}

async function joinTogether(servers: readonly PrivateRedis[], clients: readonly Redis[]): Promise<void> {
  const share = Math.ceil(SLOTS / servers.length);
  await Promise.all(
    clients.map((client, i) =>
      client.call('CLUSTER', 'ADDSLOTSRANGE', i * share, Math.min((i + 1) * share, SLOTS) - 1),
    ),
  );
  const [first] = servers;
  for (const client of clients.slice(1)) await client.call('CLUSTER', 'MEET', '127.0.0.1', first?.port ?? 0);
  await eventually(
    'all nodes to see a whole cluster',
    async () => {
      const states = await Promise.all(clients.map((client) => client.cluster('INFO')));
      return states.every(
        (state) => state.includes('cluster_state:ok') && state.includes(`cluster_known_nodes:${servers.length}`),
      );
    },
    20_000,
  );
}
