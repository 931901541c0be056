import { Command, Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Partition } from '../../lib/store/partition.js';
import { StoreKeys } from '../../lib/store/keys.js';
import type { RedisBroker } from '../../lib/engines/redis/redis.broker.js';
import { serveWithin } from '../../lib/store/calls/serve.js';
import { BrokerUnavailableError } from '../../lib/errors/operation.errors.js';
import { SystemClock } from '../../lib/time/clock.js';
import { message } from '../support/broker/broker-bed.js';
import { newRedisBroker } from '../support/broker/redis-bed.js';
import { Received } from '../support/broker/received.js';
import { type PrivateCluster, startRedisCluster } from '../support/servers/redis-cluster.js';
import type { PrivateRedis } from '../support/servers/redis-server.js';

const PREFIX = 'nodes';
const keys = new StoreKeys(PREFIX);
const clock = new SystemClock();

describe('a cluster of three that serves what it can', () => {
  let cluster: PrivateCluster;
  const brokers: RedisBroker[] = [];
  let sequence = 0;

  beforeAll(async () => {
    cluster = await startRedisCluster(3, ['--cluster-require-full-coverage', 'no']);
  }, 30_000);
  afterAll(async () => cluster.stop());
  afterEach(async () => {
    await Promise.all(brokers.splice(0).map(async (broker) => broker.close()));
  });

  async function connected(): Promise<RedisBroker> {
    const broker = newRedisBroker({ nodes: cluster.nodes }, PREFIX);
    brokers.push(broker);
    await broker.connect();
    return broker;
  }

  async function publish(broker: RedisBroker, partition: Partition, timeout: number): Promise<unknown> {
    const call = { caller: 'test', sequence: ++sequence };
    const messages = [message(`m${sequence}`, { due: { at: 1_000_000 - sequence } })];
    return serveWithin(clock, timeout, async () => broker.messages.publish(partition, call, messages));
  }

  it('is booted on with one master away: what it does not hold is served, what it holds waits and names it', async () => {
    const [away] = cluster.servers as [PrivateRedis, ...PrivateRedis[]];
    await away.kill();
    // Which of the nodes ioredis asks first is left to chance.
    for (let i = 0; i < 6; i++) await connected();
    const [broker] = brokers as [RedisBroker];
    for (const server of [1, 2]) await publish(broker, partitionOf(server), 5000);
    expect(broker.link.unreachable).toMatchObject([{ address: `127.0.0.1:${away.port}` }]);
    const error: unknown = await publish(broker, partitionOf(0), 5000).catch((reason: unknown) => reason);

    expect(error).toBeInstanceOf(BrokerUnavailableError);
    expect((error as Error).message).toContain(
      `No answer from Redis in time: Redis at 127.0.0.1:${away.port} of cluster `,
    );
    await away.start();
    await publish(broker, partitionOf(0), 20_000);
    expect(broker.link.unreachable).toEqual([]);
  }, 90_000);

  it('tells who listens to a slot that has moved to look, and signals come from where it is then', async () => {
    const broker = await connected();
    const partition = partitionOf(1, 'moving');
    const signals = new Received<unknown>();
    const listening = new Received<void>();
    broker.watchPartition(partition, signals.listener, () => listening.listener());
    await listening.atLeast(1);
    await broker.link.listen();
    const before = listening.all.length;
    await move(slotOf(partition), 1, 2);
    await listening.atLeast(before + 1);
    await publish(broker, partition, 10_000);

    expect((await signals.atLeast(1)).length).toBeGreaterThan(0);
  }, 60_000);

  /** Moves a slot that holds nothing. */
  async function move(slot: number, from: number, to: number): Promise<void> {
    const clients = cluster.servers.map(({ url }) => new Redis(url));
    const [source, target] = [clients[from] as Redis, clients[to] as Redis];
    try {
      const [sourceId, targetId] = await Promise.all([source.cluster('MYID'), target.cluster('MYID')]);
      await target.cluster('SETSLOT', slot, 'IMPORTING', sourceId);
      await source.cluster('SETSLOT', slot, 'MIGRATING', targetId);
      for (const node of [target, source]) await node.cluster('SETSLOT', slot, 'NODE', targetId);
    } finally {
      for (const client of clients) client.disconnect();
    }
  }
});

function slotOf(partition: Partition): number {
  return new Command('get', [keys.partition(partition).scheduled]).getSlot();
}

/** A partition that the server with this number held from the beginning. */
function partitionOf(server: number, topic = 'orders'): Partition {
  for (let index = 0; ; index++) {
    const partition = { topic, index };
    if (Math.floor(slotOf(partition) / Math.ceil(16_384 / 3)) === server) return partition;
  }
}
