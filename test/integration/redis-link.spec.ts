import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import type { RedisBroker } from '../../lib/engines/redis/redis.broker.js';
import type { RedisSettings } from '../../lib/engines/redis/connection/which-redis.js';
import { BrokerUnavailableError } from '../../lib/errors/operation.errors.js';
import { message } from '../support/broker/broker-bed.js';
import { newRedisBroker } from '../support/broker/redis-bed.js';
import { Received } from '../support/broker/received.js';
import { until } from '../support/waiting.js';
import { servesClusters } from '../support/servers/ioredis.js';
import { type PrivateCluster, startRedisCluster } from '../support/servers/redis-cluster.js';

/** Handlers of a call's outcome: whether it was served. */
const SERVED = [() => true, () => false] as const;

const PARTITION = { topic: 'orders', index: 0 };

function describeLink(settings: () => RedisSettings): void {
  let broker: RedisBroker;
  let signals: Received<unknown>;
  let sequence = 0;

  beforeEach(async () => {
    broker = newRedisBroker(settings());
    await broker.connect();
    signals = new Received();
    broker.watchPartition(PARTITION, signals.listener);
    await broker.link.listen();
  });

  afterEach(async () => broker.close());

  /** Publishes the earliest message of its partition. */
  async function publish(): Promise<void> {
    const at = 1_000_000 - ++sequence;
    await broker.messages.publish(PARTITION, { caller: 'test', sequence }, [message(`at ${at}`, { due: { at } })]);
  }

  it('answers if all is well, and changes nothing', async () => {
    expect(broker.link.isUp).toBe(true);
    await broker.link.ping();
    await broker.link.listen();
    await publish();
    await signals.atLeast(1);
    await broker.link.listen();
    await publish();

    // A signal comes once, even after two or three subscriptions.
    expect(await signals.atLeast(2)).toHaveLength(2);
  });

  it.each(['calls', 'signals'] as const)(
    'makes a connection anew, on which calls and signals work: %s',
    async (which) => {
      broker.link.rebuild(which);
      await until('calls to work', async () => broker.link.ping().then(...SERVED));
      await until('signals to come', async () => {
        await publish();
        return signals.all.length > 0;
      });
      await broker.link.listen();

      expect(broker.link.isUp).toBe(true);
    },
  );

  it('fails the calls under way, which may be repeated', async () => {
    const call = broker.messages.stats(PARTITION);
    broker.link.rebuild('calls');
    const outcome = await call.then(
      () => undefined,
      (error: unknown) => error,
    );

    // A client of a cluster sends them again.
    expect([undefined, BrokerUnavailableError]).toContain(outcome && (outcome as Error).constructor);
    await until('calls to work', async () => broker.messages.stats(PARTITION).then(...SERVED));
    expect(await broker.messages.stats(PARTITION)).toMatchObject({ scheduled: 0 });
  });

  it('is not opened again once it is closed', async () => {
    await broker.close();
    broker.link.rebuild('calls');
    broker.link.rebuild('signals');

    expect(broker.link.isUp).toBe(false);
    await expect(broker.link.ping()).rejects.toThrow(BrokerUnavailableError);
    await expect(broker.link.listen()).rejects.toThrow(BrokerUnavailableError);
  });
}

describe('the link to one Redis', () => {
  describeLink(() => inject('redisUrl'));
});

describe.each(servesClusters ? [3] : [])('the link to a cluster of %i', (size) => {
  let cluster: PrivateCluster;

  beforeAll(async () => {
    cluster = await startRedisCluster(size);
  });

  afterAll(async () => cluster.stop());

  describeLink(() => ({ nodes: cluster.nodes }));
});
