import { Cluster, Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConfigurationError } from '../../lib/errors/options.errors.js';
import { newRedisBroker, serverTime, serverTimeReaches } from '../support/broker/redis-bed.js';
import { servesClusters } from '../support/servers/ioredis.js';
import { type PrivateCluster, startRedisCluster } from '../support/servers/redis-cluster.js';
import { describeBroker } from '../contract/broker-contract.js';

describe.each(servesClusters ? [3] : [])('on a cluster of %i masters', (size) => {
  let cluster: PrivateCluster;

  beforeAll(async () => {
    cluster = await startRedisCluster(size);
  });

  afterAll(async () => {
    await cluster.stop();
  });

  describeBroker('RedisBroker', async () => {
    const broker = newRedisBroker({ nodes: cluster.nodes });
    await broker.connect();
    // All masters run on this machine, so they have the same clock.
    const node = new Redis({ ...cluster.nodes[0] });
    return {
      broker,
      time: () => serverTime(node),
      advance: async (milliseconds) => serverTimeReaches(node, (await serverTime(node)) + milliseconds),
      close: async () => {
        await broker.close();
        node.disconnect();
      },
    };
  });

  it('partitions of one topic are on different masters', async () => {
    const broker = newRedisBroker({ nodes: cluster.nodes }, 'spread');
    await broker.connect();
    for (let index = 0; index < 32; index++) {
      const message = { storedId: 'm', envelope: '[0,0]', due: { after: 60_000 }, onDuplicate: 'reject' as const };
      await broker.messages.publish({ topic: 'orders', index }, { caller: 'test', sequence: 1 }, [message]);
    }
    await broker.close();
    const counts = await Promise.all(
      cluster.nodes.map(async (address) => {
        const node = new Redis(address);
        const keys = await node.keys('{spread:orders:*}:scheduled');
        node.disconnect();
        return keys.length;
      }),
    );
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(32);
    expect(Math.min(...counts)).toBeGreaterThan(3);
  });
});

describe.each(servesClusters ? [] : [3])('with an ioredis that does not follow slots, a cluster of %i', (size) => {
  let cluster: PrivateCluster;

  beforeAll(async () => {
    cluster = await startRedisCluster(size);
  });

  afterAll(async () => {
    await cluster.stop();
  });

  it.each([
    { what: 'its nodes', settings: () => ({ nodes: cluster.nodes }) },
    { what: 'a client', settings: () => new Cluster(cluster.nodes, { lazyConnect: true }) },
  ])('is refused with advice: given by $what', async ({ settings }) => {
    const connecting = newRedisBroker(settings()).connect();

    await expect(connecting).rejects.toThrow(ConfigurationError);
    await expect(connecting).rejects.toThrow(/needs ioredis 6 or newer.*Install ioredis@6/);
  });
});
