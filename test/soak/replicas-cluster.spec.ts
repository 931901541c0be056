import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Partition } from '../../lib/store/partition.js';
import type { RedisBroker } from '../../lib/engines/redis/redis.broker.js';
import { StoreKeys } from '../../lib/store/keys.js';
import { message } from '../support/broker/broker-bed.js';
import { ifServed, newRedisBroker } from '../support/broker/redis-bed.js';
import { type PrivateCluster, addReplicas, startRedisCluster } from '../support/servers/redis-cluster.js';
import type { PrivateRedis } from '../support/servers/redis-server.js';
import { until } from '../support/waiting.js';

const PREFIX = 'replicas';
const MASTERS = 3;
const NODE_TIMEOUT = ['--cluster-node-timeout', '2000'];
const PARTITIONS = Array.from({ length: 16 }, (_, index): Partition => ({ topic: 'orders', index }));

describe('publishes that replicas confirm, in a cluster with a replica of each master', () => {
  let cluster: PrivateCluster;
  let broker: RedisBroker;

  beforeAll(async () => {
    cluster = await startRedisCluster(MASTERS, NODE_TIMEOUT);
    await addReplicas(cluster, NODE_TIMEOUT);
    broker = newRedisBroker({ nodes: cluster.nodes }, PREFIX);
    await broker.connect();
  }, 60_000);

  afterAll(async () => {
    await broker.close();
    await cluster.stop();
  });

  /** How many replicas confirm a publish; `undefined` if it fails for the time being. */
  async function publish(partition: Partition, sequence: number): Promise<number | undefined> {
    const call = { caller: 'test', sequence };
    const replicas = { min: 1, timeout: 500 };
    const results = await ifServed(broker.messages.publish(partition, call, [message(`m${sequence}`)], { replicas }));
    return results?.[0]?.confirmedBy;
  }

  async function publishToAll(sequence: number): Promise<(number | undefined)[]> {
    return Promise.all(PARTITIONS.map(async (partition) => publish(partition, sequence)));
  }

  it('the replica of each partition confirms, and after a failover those that are left', async () => {
    expect(await publishToAll(1)).toEqual(PARTITIONS.map(() => 1));
    expect(await waitsOf(cluster.servers.slice(0, MASTERS))).not.toContain(0);
    await cluster.servers[0]?.kill();

    const areAnswered = async (): Promise<boolean> => !(await publishToAll(2)).includes(undefined);
    await until('all publishes to be answered', areAnswered, 30_000);
    // The partitions of the master that is gone have no replica now.
    expect(new Set(await publishToAll(2))).toEqual(new Set([0, 1]));
    const stats = await Promise.all(PARTITIONS.map(async (partition) => broker.messages.stats(partition)));
    expect(stats.map(({ counters }) => counters.published)).toEqual(PARTITIONS.map(() => 2));
  }, 60_000);

  it('a slot that has moved is followed', async () => {
    const [, source, target] = cluster.servers as [PrivateRedis, PrivateRedis, PrivateRedis];
    const [from, to] = [new Redis({ port: source.port }), new Redis({ port: target.port })];
    const partition = await partitionOn(from);
    expect(await publish(partition, 1)).toBe(1);
    await movePartition(partition, from, to);

    expect(await until('the publish to be answered', async () => publish(partition, 2))).toBe(1);
    expect(await broker.messages.stats(partition)).toMatchObject({ counters: { published: 2 } });
    from.disconnect();
    to.disconnect();
  });
});

/** How often each server was asked to WAIT. */
async function waitsOf(servers: readonly PrivateRedis[]): Promise<number[]> {
  return Promise.all(
    servers.map(async ({ url }) => {
      const redis = new Redis(url);
      const [, calls = '0'] = /cmdstat_wait:calls=(\d+)/.exec(await redis.info('commandstats')) ?? [];
      redis.disconnect();
      return Number(calls);
    }),
  );
}

/** A partition that a master has. */
async function partitionOn(master: Redis): Promise<Partition> {
  const own = await master.cluster('MYID');
  const ranges = await master.cluster('SLOTS');
  for (let index = 0; ; index++) {
    const partition = { topic: 'moved', index };
    const slot = await slotOf(partition, master);
    if (ranges.some(([first, last, node]) => node?.[2] === own && slot >= first && slot <= last)) return partition;
  }
}

async function slotOf(partition: Partition, node: Redis): Promise<number> {
  return node.cluster('KEYSLOT', new StoreKeys(PREFIX).partition(partition).messages);
}

async function movePartition(partition: Partition, from: Redis, to: Redis): Promise<void> {
  const slot = await slotOf(partition, from);
  const [source, target] = [await from.cluster('MYID'), await to.cluster('MYID')];
  await to.cluster('SETSLOT', slot, 'IMPORTING', source);
  await from.cluster('SETSLOT', slot, 'MIGRATING', target);
  const keys = await from.cluster('GETKEYSINSLOT', slot, 100);
  await from.call('MIGRATE', '127.0.0.1', String(to.options.port), '', '0', '5000', 'KEYS', ...keys);
  await to.cluster('SETSLOT', slot, 'NODE', target);
  await from.cluster('SETSLOT', slot, 'NODE', target);
}
