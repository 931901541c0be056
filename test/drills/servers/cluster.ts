import type { ClusterNode } from 'ioredis';
import { type PrivateCluster, startRedisCluster } from '../../support/servers/redis-cluster.js';
import { type PrivateRedis, startRedis } from '../../support/servers/redis-server.js';
import { replicasCaughtUp } from '../../support/servers/replication.js';
import { until } from '../../support/waiting.js';
import { WITH_SYNCED_FILE } from '../../support/servers/with-file.js';
import type { Servers } from './servers.js';

const SHARDS = 3;

/** A shard that is gone leaves the others serving. Nodes that are silent for so many milliseconds count as gone. */
const CONFIG = ['--cluster-require-full-coverage', 'no', '--cluster-node-timeout', '2000'];
const AS_NODE = ['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1', ...CONFIG, ...WITH_SYNCED_FILE];

/** How long it may take until the nodes agree, in milliseconds. */
const AGREEMENT = 30_000;

/** A node as `CLUSTER NODES` lists it. */
interface Listed {
  readonly id: string;
  readonly port: number;
  readonly isPrimary: boolean;
  readonly failed: boolean;
  /** The id of its primary, if it is a replica. */
  readonly primary: string;
}

/** A Redis Cluster of three shards, each with a replica if a drill wants one. */
export class DrillCluster implements Servers {
  readonly #cluster: PrivateCluster;
  /** Beside the primaries that the cluster began with. */
  readonly #added: PrivateRedis[] = [];

  private constructor(cluster: PrivateCluster) {
    this.#cluster = cluster;
  }

  static async start(replicasEach: 0 | 1): Promise<DrillCluster> {
    const cluster = new DrillCluster(await startRedisCluster(SHARDS, [...CONFIG, ...WITH_SYNCED_FILE]));
    try {
      if (replicasEach > 0) for (const primary of cluster.#cluster.servers) await cluster.#addReplica(primary);
      await cluster.whole();
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  get address(): { nodes: ClusterNode[] } {
    return { nodes: this.servers.map(({ port }) => ({ host: '127.0.0.1', port })) };
  }

  get servers(): PrivateRedis[] {
    return [...this.#cluster.servers, ...this.#added];
  }

  /** The servers that have slots now, in a fixed order. */
  async primaries(): Promise<PrivateRedis[]> {
    const listed = (await this.#nodes()).filter(({ isPrimary, failed }) => isPrimary && !failed);
    return this.servers.filter(({ port }) => listed.some((node) => node.port === port));
  }

  /** Ends a primary at once, waits until its replica has taken its place, and starts it again as a replica. */
  async killPrimary(primary: PrivateRedis): Promise<void> {
    await primary.kill();
    await until(
      'a replica to take the place of the primary',
      async () => (await this.primaries()).length === SHARDS,
      AGREEMENT,
    );
    await primary.start();
  }

  /** Swaps a primary for its replica, in agreement with both. */
  async failover(primary: PrivateRedis): Promise<void> {
    const nodes = await this.#nodes();
    const id = nodes.find(({ port }) => port === primary.port)?.id;
    const replica = this.servers.find(({ port }) => nodes.some((node) => node.port === port && node.primary === id));
    if (!replica) throw new Error(`The primary at port ${primary.port} has no replica`);
    await replica.ask(async (client) => client.cluster('FAILOVER'));
    await until('the replica to be the primary', async () => (await this.primaries()).includes(replica), AGREEMENT);
  }

  /** Starts one more primary, which has no slots yet. */
  async addPrimary(): Promise<PrivateRedis> {
    const server = await this.#join();
    await this.#agreed();
    return server;
  }

  /** The slots of a server that hold keys. */
  async slotsInUse(server: PrivateRedis): Promise<number[]> {
    return server.ask(async (client) => {
      const keys = await client.keys('*');
      return [...new Set(await Promise.all(keys.map(async (key) => client.cluster('KEYSLOT', key))))];
    });
  }

  /** Moves a slot and its keys, as `redis-cli --cluster reshard` does. */
  async moveSlot(slot: number, from: PrivateRedis, to: PrivateRedis): Promise<void> {
    const [fromId, toId] = await Promise.all([from, to].map(idOf));
    await to.ask(async (client) => client.cluster('SETSLOT', slot, 'IMPORTING', String(fromId)));
    await from.ask(async (client) => {
      await client.cluster('SETSLOT', slot, 'MIGRATING', String(toId));
      for (;;) {
        const keys = await client.cluster('GETKEYSINSLOT', slot, 100);
        if (keys.length === 0) return;
        await client.call('MIGRATE', '127.0.0.1', to.port, '', 0, 5000, 'KEYS', ...keys);
      }
    });
    // The new owner first: it is the one that must not send anybody back.
    for (const server of [to, from])
      await server.ask(async (client) => client.cluster('SETSLOT', slot, 'NODE', String(toId)));
  }

  /** Waits until every node sees every other one at work. */
  async whole(): Promise<void> {
    await this.#agreed();
    const replicas = (this.servers.length - SHARDS) / SHARDS;
    if (replicas >= 1) for (const primary of await this.primaries()) await replicasCaughtUp(primary);
  }

  async stop(): Promise<void> {
    await Promise.all([this.#cluster.stop(), ...this.#added.map(async (server) => server.stop())]);
  }

  async #addReplica(primary: PrivateRedis): Promise<void> {
    const replica = await this.#join();
    const id = await idOf(primary);
    await until('the replica to know its primary', async () =>
      replica
        .ask(async (client) => client.cluster('REPLICATE', id))
        .then(
          () => true,
          () => false,
        ),
    );
  }

  async #join(): Promise<PrivateRedis> {
    const server = await startRedis(AS_NODE);
    this.#added.push(server);
    const [first] = this.#cluster.servers;
    await server.ask(async (client) => client.cluster('MEET', '127.0.0.1', first?.port ?? 0));
    return server;
  }

  async #agreed(): Promise<void> {
    await until(
      'all nodes to see a whole cluster',
      async () => {
        const states = await Promise.all(
          this.servers.map(async (server) => server.ask(async (client) => client.cluster('INFO'))),
        );
        const nodes = await this.#nodes();
        return (
          nodes.every(({ failed }) => !failed) &&
          states.every(
            (state) =>
              state.includes('cluster_state:ok') &&
              state.includes('cluster_slots_fail:0') &&
              state.includes(`cluster_known_nodes:${this.servers.length}`),
          )
        );
      },
      AGREEMENT,
    );
  }

  /** The nodes as one that runs sees them. */
  async #nodes(): Promise<Listed[]> {
    const asked = this.servers.find(({ running }) => running);
    if (!asked) throw new Error('No node runs');
    const list = await asked.ask(async (client) => client.cluster('NODES'));
    return String(list)
      .trim()
      .split('\n')
      .map((line) => {
        const [id = '', address = '', flags = '', primary = ''] = line.split(' ');
        const slots = line.split(' ').slice(8);
        return {
          id,
          port: Number(/:(\d+)@/.exec(address)?.[1]),
          isPrimary: flags.includes('master') && slots.length > 0,
          failed: flags.includes('fail'),
          primary,
        };
      });
  }
}

async function idOf(server: PrivateRedis): Promise<string> {
  return server.ask(async (client) => client.cluster('MYID'));
}
