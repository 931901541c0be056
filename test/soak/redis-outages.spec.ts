import * as ioredis from 'ioredis';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, it } from 'vitest';
import { RedisConnection } from '../../lib/engines/redis/connection/redis-connection.js';
import type { RedisSettings } from '../../lib/engines/redis/connection/which-redis.js';
import { serveWithin } from '../../lib/store/calls/serve.js';
import { BrokerUnavailableError } from '../../lib/errors/operation.errors.js';
import { SystemClock } from '../../lib/time/clock.js';
import { until } from '../support/waiting.js';
import { servesClusters } from '../support/servers/ioredis.js';
import { startRedisCluster } from '../support/servers/redis-cluster.js';
import { PRIMARY, startSentinel } from '../support/servers/redis-sentinel.js';
import { freePort, startRedis } from '../support/servers/redis-server.js';
import { startTlsServer } from '../support/servers/tls-server.js';

const WHERE = "the option 'redis' of DelayQueueModule.forRoot()";

const local = (port: number) => ({ host: '127.0.0.1', port });

/** How long tests watch the log while Redis is away, in milliseconds: about ten tries of each connection. */
const OUTAGE = 3000;

describe('the log and the error if Redis cannot be reached', () => {
  const cleanups: (() => unknown)[] = [];
  let lines: string[];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  });

  function keep<T extends { stop(): Promise<void> }>(server: T): T {
    cleanups.push(() => server.stop());
    return server;
  }

  function connection(settings: RedisSettings, timeout = 1000): RedisConnection {
    lines = [];
    const write = (line: string): void => void lines.push(line);
    const created = new RedisConnection(ioredis, settings, { log: write, warn: write, error: write }, timeout);
    cleanups.push(() => created.close());
    return created;
  }

  async function failureOf(settings: RedisSettings, timeout?: number): Promise<Error> {
    const startedAt = performance.now();
    const error = await connection(settings, timeout)
      .connect()
      .then(
        () => expect.fail('it connected'),
        (reason: unknown) => reason as Error,
      );
    // A connection without a timeout would try for ever.
    expect(performance.now() - startedAt).toBeLessThan((timeout ?? 1000) + 5000);
    expect(error).toBeInstanceOf(BrokerUnavailableError);
    // The error has everything.
    expect(lines).toEqual([]);
    return error;
  }

  /** Stops the servers of a connection, collects the log meanwhile, and starts them again. */
  async function outageOf(settings: RedisSettings, away: { stop(): unknown; start(): unknown }): Promise<string> {
    const connected = connection(settings, 5000);
    await connected.connect();
    await away.stop();
    // Without calls, a client of a cluster would not notice.
    const failures: unknown[] = [];
    const calling = setInterval(() => {
      connected.send((redis) => redis.ping()).catch((error: unknown) => failures.push(error));
    }, 50);
    await new Promise((resolve) => setTimeout(resolve, OUTAGE));
    clearInterval(calling);
    expect(lines).toHaveLength(1);
    const [lost = ''] = lines;
    await away.start();
    await until('Redis to be back', () => lines.length > 1, 10_000);
    await until('calls to work', async () => connected.send((redis) => redis.ping()).then(Boolean, () => false));

    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatch(/ is back after [3-9]\.\d s$/);
    expect(failures.every((failure) => failure instanceof BrokerUnavailableError)).toBe(true);
    return lost;
  }

  describe('at boot', () => {
    it('name the option, the address and how to start a Redis if nothing listens', async () => {
      const port = await freePort();

      expect((await failureOf(`redis://127.0.0.1:${port}`)).message).toBe(
        `Redis at 127.0.0.1:${port} cannot be reached: connect ECONNREFUSED 127.0.0.1:${port}. Its address is set by ${WHERE} ` +
          `or createDelayQueueAdmin(). To start a Redis there: docker run --rm -p ${port}:6379 redis:8, or redis-server ` +
          `--port ${port}.`,
      );
    });

    it('do not say how to start a Redis if the host does not exist', async () => {
      const { message } = await failureOf({ host: 'nowhere.invalid', port: 6379 });

      expect(message).toContain('Redis at nowhere.invalid:6379');
      expect(message).toContain(WHERE);
      expect(message).not.toContain('docker');
    });

    it('have the cause if no Sentinel listens', async () => {
      const port = await freePort();
      const { message } = await failureOf({ sentinels: [local(port)], name: PRIMARY });

      expect(message).toContain(`Redis at sentinels 127.0.0.1:${port} (${PRIMARY}) gave no answer within 1000 ms: `);
      expect(message).toContain(`connect ECONNREFUSED 127.0.0.1:${port}`);
      expect(message).toContain(WHERE);
    });

    it('have the cause if the Sentinel does not know the primary', async () => {
      const sentinel = keep(await startSentinel(keep(await startRedis())));

      const settings = { sentinels: [local(sentinel.port)], name: 'another' };

      expect((await failureOf(settings)).message).toMatch(/\(another\).*ERR No such master with that name/);
      expect((await failureOf({ ...settings, updateSentinels: false })).message).toMatch(
        /\(another\).*none of them knows a primary of that name/,
      );
    });

    it('have the cause if no node of a cluster listens', async () => {
      const nodes = [local(await freePort()), local(await freePort())];
      const { message } = await failureOf({ nodes });

      expect(message).toContain(`Redis at cluster 127.0.0.1:${nodes[0]?.port}, 127.0.0.1:${nodes[1]?.port} `);
      expect(message).toContain(`connect ECONNREFUSED 127.0.0.1:${nodes[0]?.port}`);
      expect(message).toContain(WHERE);
    });

    it('have the cause if the node is not part of a cluster', async () => {
      const redis = keep(await startRedis());

      expect((await failureOf({ nodes: [local(redis.port)] })).message).toContain('cluster support disabled');
    });

    it.each([
      { what: 'a URL', settings: (port: number) => `rediss://127.0.0.1:${port}` },
      { what: 'options', settings: (port: number) => ({ ...local(port), tls: {} }) },
      {
        what: 'a cluster',
        settings: (port: number) => ({ nodes: [local(port)], options: { redisOptions: { tls: {} } } }),
      },
      { what: 'sentinels', settings: (port: number) => ({ sentinels: [local(port)], name: 'x', sentinelTLS: {} }) },
    ])('have the cause if the server does not speak TLS: $what', async ({ settings }) => {
      const redis = keep(await startRedis());

      const { message } = await failureOf(settings(redis.port));

      for (const text of ['does not speak TLS', 'redis:// instead of rediss://', WHERE])
        expect(message).toContain(text);
    });

    it.each([
      { what: 'a URL', settings: (port: number) => `redis://127.0.0.1:${port}` },
      { what: 'a cluster', settings: (port: number) => ({ nodes: [local(port)] }) },
      { what: 'sentinels', settings: (port: number) => ({ sentinels: [local(port)], name: 'x' }) },
    ])('have the cause if only the server speaks TLS: $what', async ({ settings }) => {
      const tls = keep(await startTlsServer(keep(await startRedis()).port));

      const { message } = await failureOf(settings(tls.port));

      for (const text of ['speaks TLS', 'rediss:// instead of redis://', WHERE]) expect(message).toContain(text);
    });

    it.each([
      { what: 'a URL', settings: (port: number) => `rediss://localhost:${port}` },
      {
        what: 'a cluster',
        settings: (port: number) => ({ nodes: [{ host: 'localhost', port }], options: { redisOptions: { tls: {} } } }),
      },
    ])('have the cause if a certificate is not trusted: $what', async ({ settings }) => {
      const tls = keep(await startTlsServer(keep(await startRedis()).port));

      expect((await failureOf(settings(tls.port))).message).toContain('self-signed certificate');
    });
  });

  it('is in the error of a call that waits for Sentinels which know no primary', async () => {
    const primary = keep(await startRedis());
    const sentinel = keep(await startSentinel(primary));
    const connected = connection({ sentinels: [local(sentinel.port)], name: PRIMARY }, 5000);
    await connected.connect();
    await sentinel.kill();
    await primary.kill();
    const clock = new SystemClock();
    const calls = Array.from({ length: 20 }, async () =>
      serveWithin(clock, 2000, async () => connected.send(async (redis) => redis.ping())),
    );
    const outcomes = await Promise.allSettled(calls);

    for (const outcome of outcomes) {
      const error = outcome.status === 'rejected' ? (outcome.reason as Error) : new Error('it was answered');
      expect(error).toBeInstanceOf(BrokerUnavailableError);
      expect(error.message).toMatch(/^No answer from Redis in time: Redis at sentinels .* failed: .*ECONNREFUSED/);
    }
  });

  describe('later, in one line for each state', () => {
    it('one server', async () => {
      const redis = keep(await startRedis());

      const lost = await outageOf(redis.url, { stop: () => redis.kill(), start: () => redis.start() });

      expect(lost).toMatch(new RegExp(`^Redis at 127.0.0.1:${redis.port} is lost: .*(ECONNREFUSED|ECONNRESET)`));
    });

    it('a Sentinel and its primary', async () => {
      const primary = keep(await startRedis());
      const sentinel = keep(await startSentinel(primary));
      const settings = { sentinels: [local(sentinel.port)], name: PRIMARY };

      const lost = await outageOf(settings, {
        stop: async () => {
          await sentinel.kill();
          await primary.kill();
        },
        start: async () => {
          await primary.start();
          await sentinel.start();
        },
      });

      expect(lost).toBe(
        `Redis at sentinels 127.0.0.1:${sentinel.port} (${PRIMARY}) is lost: connect ECONNREFUSED 127.0.0.1:${sentinel.port}`,
      );
    });

    it.each(servesClusters ? [3] : [])(
      'a cluster whose %i nodes are all away',
      async (size) => {
        const cluster = keep(await startRedisCluster(size));

        const lost = await outageOf(
          { nodes: cluster.nodes },
          {
            stop: () => Promise.all(cluster.servers.map((server) => server.kill())),
            start: () => Promise.all(cluster.servers.map((server) => server.start())),
          },
        );

        expect(lost).toContain('Redis at cluster ');
        expect(lost).toContain('is lost: connect ECONNREFUSED 127.0.0.1:');
      },
      40_000,
    );

    it('a server behind TLS', async () => {
      const redis = keep(await startRedis());
      const first = keep(await startTlsServer(redis.port));
      const settings = { host: 'localhost', port: first.port, tls: { rejectUnauthorized: false } };

      const lost = await outageOf(settings, { stop: () => first.stop(), start: () => startAgain(first.port) });

      expect(lost).toContain(`Redis at localhost:${first.port} is lost: `);
      expect(lost).toMatch(/ECONNREFUSED/);

      async function startAgain(port: number): Promise<void> {
        keep(await startTlsServer(redis.port, port));
      }
    });

    it('a password that is changed meanwhile', async () => {
      const redis = keep(await startRedis());
      const connected = connection(redis.url, 5000);
      await connected.connect();
      const admin = new Redis(redis.url);
      cleanups.push(() => admin.disconnect());
      await admin.config('SET', 'requirepass', 'another');
      await admin.call('CLIENT', 'KILL', 'TYPE', 'normal');
      await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
      await new Promise((resolve) => setTimeout(resolve, OUTAGE));

      expect(lines).toHaveLength(1);
      expect(lines[0]).toContain('is lost: Redis asks for a password (NOAUTH');
    });
  });
});
