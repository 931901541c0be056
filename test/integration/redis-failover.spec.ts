import * as ioredis from 'ioredis';
import { type Cluster, Redis, ReplyError } from 'ioredis';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { RedisConnection } from '../../lib/engines/redis/connection/redis-connection.js';
import type { RedisBroker } from '../../lib/engines/redis/redis.broker.js';
import { BrokerUnavailableError } from '../../lib/errors/operation.errors.js';
import { FaultProxy } from '../support/servers/fault-proxy.js';
import { message } from '../support/broker/broker-bed.js';
import { SILENT, newRedisBroker } from '../support/broker/redis-bed.js';
import { Received } from '../support/broker/received.js';
import { eventually, until } from '../support/waiting.js';
import { type PrivateRedis, startRedis } from '../support/servers/redis-server.js';

const PARTITION = { topic: 'orders', index: 0 };

/** Handlers of a call's outcome: whether it was served. */
const SERVED = [() => true, () => false] as const;
const READONLY = new ReplyError("READONLY You can't write against a read only replica.");

describe('a primary that becomes a replica behind one address', () => {
  let former: PrivateRedis;
  let next: PrivateRedis;
  let proxy: FaultProxy;
  let broker: RedisBroker;
  let sequence = 0;

  beforeEach(async () => {
    [former, next] = await Promise.all([startRedis(), startRedis()]);
    proxy = await FaultProxy.start(former.port);
    broker = newRedisBroker(proxy.url);
    await broker.connect();
  });

  afterEach(async () => {
    await broker.close();
    await proxy.close();
    await Promise.all([former.stop(), next.stop()]);
  });

  async function publish(): Promise<unknown> {
    const call = { caller: 'test', sequence: ++sequence };
    return broker.messages.publish(PARTITION, call, [message(`m${sequence}`, { due: { at: 1_000_000 - sequence } })]);
  }

  const demote = async (): Promise<void> => {
    await on(former, (redis) => redis.replicaof('127.0.0.1', next.port));
  };

  it('is left by calls and signals for the primary that the address now leads to', async () => {
    const signals = new Received<unknown>();
    const listening = new Received<void>();
    broker.watchPartition(PARTITION, signals.listener, () => listening.listener());
    await listening.atLeast(1);
    await demote();
    proxy.point(next.port);
    const first = await publish().catch((error: unknown) => error);
    expect(first).toBeInstanceOf(BrokerUnavailableError);
    expect(first).toMatchObject({ transient: true, message: expect.stringContaining('READONLY') });
    await until('a publish to be served', async () =>
      publish().then(
        () => true,
        () => false,
      ),
    );
    await listening.atLeast(2);
    await publish();
    await signals.atLeast(1);

    expect(await channelsOf(next)).toHaveLength(1);
    expect(await channelsOf(former)).toEqual([]);
  });

  it('is left by readers of fleet events too, which only read and so are never refused', async () => {
    const entries = new Received<unknown>();
    const errors = new Received<Error>();
    const end = broker.eventLog.follow({ onEntry: entries.listener, onError: errors.listener });
    const append = async (number: number): Promise<void> =>
      broker.eventLog.append({ process: 'test', sequence: number, count: 1, dropped: 0, events: '[]' }, 100);
    await eventually(async () => {
      await append(entries.all.length + 1);
      expect(entries.all.length).toBeGreaterThan(0);
    });
    await until('the reader to wait', async () => (await on(former, readersOf)) === 1);
    // The first new connection still leads to the former primary, and may stay there: the reader's does.
    // It is cut off, so that nothing reaches it from the next one.
    await on(former, async (redis) => redis.replicaof('127.0.0.1', 1));
    await errors.atLeast(1);
    await until('the reader to wait there again', async () => (await on(former, readersOf)) === 1);
    proxy.point(next.port);
    await until('a publish to be served', async () => publish().then(...SERVED));
    const known = entries.all.length;
    await eventually(async () => {
      await append(1000 + entries.all.length);
      expect(entries.all.length).toBeGreaterThan(known);
    });
    await end();
  });

  it('is tried again and again while the address leads to it, with a pause each time, however many calls fail', async () => {
    await demote();
    const connectionsBefore = await on(former, connectionsOf);
    const startedAt = performance.now();
    while (performance.now() < startedAt + 2000) {
      await Promise.all(Array.from({ length: 50 }, async () => publish().catch(() => {})));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const took = performance.now() - startedAt;
    const made = (await on(former, connectionsOf)) - connectionsBefore;

    // There are at least 50 ms between two, and none for signals before errors have stopped.
    expect(made).toBeGreaterThan(5);
    expect(made).toBeLessThan(took / 50 + 5);
  });
});

async function on<T>({ url }: PrivateRedis, look: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url);
  return look(redis).finally(() => redis.disconnect());
}

/** The channels with subscribers on a server, sharded or not; Redis 6.2 has only plain ones. */
async function channelsOf(server: PrivateRedis): Promise<unknown> {
  return on(server, async (redis) => {
    const sharded = await redis.pubsub('SHARDCHANNELS').catch(() => []);
    return [...sharded, ...(await redis.pubsub('CHANNELS'))];
  });
}

/** How many connections wait for entries of a stream. */
async function readersOf(redis: Redis): Promise<number> {
  const clients = (await redis.client('LIST')) as string;
  return clients.split('\n').filter((line) => / flags=\S*b/.test(line) && line.includes(' cmd=xread ')).length;
}

async function connectionsOf(redis: Redis): Promise<number> {
  return Number(/^total_connections_received:(\d+)/m.exec(await redis.info('stats'))?.[1]);
}

/** A function that an application may set. */
const given = (error: Error): 1 | false => (error.message.startsWith('LOADING') ? 1 : false);

describe('reconnectOnError of the application', () => {
  const { hostname: host, port } = new URL(inject('redisUrl'));

  it.each([
    { where: 'options', settings: () => ({ host, port: Number(port), reconnectOnError: given }) },
    { where: 'a client', settings: () => new Redis({ host, lazyConnect: true, reconnectOnError: given }) },
  ])('is asked about all but READONLY: in $where', ({ settings }) => {
    const connection = new RedisConnection(ioredis, settings(), SILENT, 5000);
    const { reconnectOnError } = (connection.commands as Redis).options;

    expect(reconnectOnError?.(new ReplyError('LOADING'))).toBe(1);
    expect(reconnectOnError?.(new ReplyError('ERR'))).toBe(false);
    expect(reconnectOnError?.(READONLY)).toBe(true);
    connection.close();
  });

  it("is asked about all but READONLY: in the options of a cluster's nodes", () => {
    const settings = { nodes: [{ host, port: 1 }], options: { redisOptions: { reconnectOnError: given } } };
    const connection = new RedisConnection(ioredis, settings, SILENT, 5000);
    const { reconnectOnError } = (connection.commands as Cluster).options.redisOptions ?? {};

    expect(reconnectOnError?.(new ReplyError('LOADING'))).toBe(1);
    expect(reconnectOnError?.(READONLY)).toBe(true);
    connection.close();
  });
});
