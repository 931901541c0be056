import { randomUUID } from 'node:crypto';
import * as ioredis from 'ioredis';
import { Cluster, Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RedisBroker } from '../../lib/engines/redis/redis.broker.js';
import { RedisConnection } from '../../lib/engines/redis/connection/redis-connection.js';
import type { RedisSettings } from '../../lib/engines/redis/connection/which-redis.js';
import { BrokerUnavailableError } from '../../lib/errors/operation.errors.js';
import { ConfigurationError } from '../../lib/errors/options.errors.js';
import { message } from '../support/broker/broker-bed.js';
import { SILENT, newRedisBroker } from '../support/broker/redis-bed.js';
import { until } from '../support/waiting.js';
import { type PrivateCluster, startRedisCluster } from '../support/servers/redis-cluster.js';
import { PRIMARY, startSentinel } from '../support/servers/redis-sentinel.js';
import { type PrivateRedis, startRedis } from '../support/servers/redis-server.js';

const local = (port: number) => ({ host: '127.0.0.1', port });
const lazy = { lazyConnect: true } as const;
/** An option that ioredis 5 does not know. */
const PROTOCOL_2: object = { protocol: 2 };

const PARTITION = { topic: 'orders', index: 0 };

describe('the configured database', () => {
  let server: PrivateRedis;
  let cluster: PrivateCluster;
  let redis: Redis;
  const cleanups: (() => unknown)[] = [];

  beforeAll(async () => {
    [server, cluster] = await Promise.all([startRedis(), startRedisCluster(1)]);
    redis = new Redis(server.url);
  });
  afterAll(async () => {
    redis.disconnect();
    await Promise.all([server.stop(), cluster.stop()]);
  });
  beforeEach(async () => {
    await redis.flushall();
    await redis.acl('SETUSER', 'limited', 'reset', 'on', '>secret', '~*', '&*', '+@all');
  });
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  });

  function broker(settings: RedisSettings): RedisBroker {
    const created = newRedisBroker(settings, randomUUID(), 2000);
    cleanups.push(() => created.close());
    return created;
  }

  async function refusalOf(settings: () => RedisSettings): Promise<Error> {
    const error = await Promise.resolve()
      .then(() => broker(settings()).connect())
      .then(
        () => expect.fail('it connected'),
        (reason: unknown) => reason as Error,
      );
    expect(error).toBeInstanceOf(ConfigurationError);
    return error;
  }

  const BEYOND: Readonly<Record<string, () => RedisSettings | Promise<RedisSettings>>> = {
    'a URL': () => `${server.url}/99`,
    'a URL with a query': () => `${server.url}?db=99`,
    options: () => ({ ...local(server.port), db: 99 }),
    'options without ready check': () => ({ ...local(server.port), db: 99, enableReadyCheck: false }),
    'options of a client that tells less of itself': () => ({ ...local(server.port), db: 99, disableClientInfo: true }),
    'protocol 2': () => ({ ...local(server.port), db: 99, ...PROTOCOL_2 }),
    'a client': () => new Redis({ ...local(server.port), db: 99, ...lazy }),
    sentinels: async () => {
      const sentinel = await startSentinel(server);
      cleanups.push(() => sentinel.stop());
      return { sentinels: [local(sentinel.port)], name: PRIMARY, db: 99 };
    },
  };
  for (const [what, make] of Object.entries(BEYOND)) {
    it(`fails the boot if it does not exist, in ${what}`, async () => {
      const settings = await make();
      const error = await refusalOf(() => settings);

      for (const text of ['no database 99', "'databases'", '16', 'ERR DB index']) expect(error.message).toContain(text);
      expect(await redis.dbsize()).toBe(0);
    });
  }

  it('fails the boot if the user may not select one', async () => {
    await redis.acl('SETUSER', 'limited', '-select');

    const error = await refusalOf(() => `redis://limited:secret@127.0.0.1:${server.port}/3`);

    for (const text of ['database 3', '+select', 'database 0']) expect(error.message).toContain(text);
    expect(await redis.dbsize()).toBe(0);
  });

  it('needs no right to select if it is database 0', async () => {
    await redis.acl('SETUSER', 'limited', '-select');

    const connected = broker(`redis://limited:secret@127.0.0.1:${server.port}/0`);
    await connected.connect();

    expect(connected.link.isUp).toBe(true);
  });

  it('fails the boot at a node of a cluster', async () => {
    const error = await refusalOf(() => ({ ...local(cluster.servers[0]?.port ?? 0), db: 1 }));

    for (const text of ['database 1', 'Cluster', 'database 0 only']) expect(error.message).toContain(text);
  });

  const OF_A_CLUSTER: Readonly<Record<string, () => RedisSettings>> = {
    'a URL of a node': () => ({ nodes: cluster.nodes.map(({ host, port }) => `redis://${host}:${port}/2`) }),
    'a node': () => ({ nodes: cluster.nodes.map((node) => ({ ...node, db: 2 })) }),
    'the options of nodes': () => ({ nodes: cluster.nodes, options: { redisOptions: { db: 2 } } }),
    'a cluster client': () => new Cluster(cluster.nodes, { ...lazy, redisOptions: { db: 2 } }),
    'a cluster client made of URLs': () =>
      new Cluster(
        cluster.nodes.map(({ port }) => `redis://127.0.0.1:${port}/2`),
        lazy,
      ),
  };
  for (const [what, settings] of Object.entries(OF_A_CLUSTER)) {
    it(`is refused for a cluster, in ${what}`, async () => {
      const error = await refusalOf(settings);

      for (const text of ["'redis'", 'database 2', 'Cluster', "'prefix'"]) expect(error.message).toContain(text);
    });
  }

  it.each([NaN, -1, 1.5])('is refused if it is %d', async (db) => {
    const error = await refusalOf(() => new Redis({ db, ...lazy }));

    expect(error.message).toContain('whole number from 0');
  });

  it('contains the messages', async () => {
    const connected = broker(`${server.url}/3`);
    await connected.connect();
    await connected.messages.publish(PARTITION, { caller: 'test', sequence: 1 }, [message('a')]);

    expect(await redis.dbsize()).toBe(0);
    expect(await redis.info('keyspace')).toContain('db3:');
  });

  it('is not replaced by another one after a reconnect that may not select', async () => {
    const connected = broker(`redis://limited:secret@127.0.0.1:${server.port}/3`);
    await connected.connect();
    let sequence = 0;
    const publish = () =>
      connected.messages.publish(PARTITION, { caller: 'test', sequence: ++sequence }, [message(`m${sequence}`)]);
    await publish();

    await redis.acl('SETUSER', 'limited', '-select');
    await redis.call('CLIENT', 'KILL', 'TYPE', 'normal');
    const errors: unknown[] = [];
    // At every moment of a dozen reconnects.
    for (const end = performance.now() + 2000; performance.now() < end;) {
      await publish().then(
        () => expect.fail('it was served'),
        (error: unknown) => errors.push(error),
      );
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect(errors.at(-1)).toBeInstanceOf(BrokerUnavailableError);
    expect(String(errors.at(-1))).toContain('database 3');
    expect(connected.link.isUp).toBe(false);
    expect(await redis.dbsize()).toBe(0);

    await redis.acl('SETUSER', 'limited', '+select');
    await until('it to be served again', async () =>
      publish().then(
        () => true,
        () => false,
      ),
    );
    expect(await redis.dbsize()).toBe(0);
  });

  it('is also selected by further connections, which do not serve without it', async () => {
    const connection = new RedisConnection(ioredis, `redis://limited:secret@127.0.0.1:${server.port}/3`, SILENT, 2000);
    cleanups.push(() => connection.close());
    await connection.connect();
    await redis.acl('SETUSER', 'limited', '-select');

    const further = connection.openAnother();
    cleanups.push(() => further.disconnect());

    await expect(further.set('a', 'b')).rejects.toThrow(/retries|closed|select/);
    expect(await redis.dbsize()).toBe(0);
  });
});
