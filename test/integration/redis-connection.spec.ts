import { randomUUID } from 'node:crypto';
import { createServer } from 'node:net';
import { Cluster, Redis } from 'ioredis';
import { afterEach, describe, expect, inject, it, onTestFinished, vi } from 'vitest';
import type { RedisBroker } from '../../lib/engines/redis/redis.broker.js';
import type { RedisSettings } from '../../lib/engines/redis/connection/which-redis.js';
import { BrokerUnavailableError } from '../../lib/errors/operation.errors.js';
import { ConfigurationError } from '../../lib/errors/options.errors.js';
import { SystemClock } from '../../lib/time/clock.js';
import { message } from '../support/broker/broker-bed.js';
import { startFakeRedis } from '../support/servers/fake-redis.js';
import { newRedisBroker } from '../support/broker/redis-bed.js';
import { Received } from '../support/broker/received.js';
import { freePort, startRedis } from '../support/servers/redis-server.js';

const CALL = { caller: 'test', sequence: 1 };

async function failureOf(connecting: Promise<void>): Promise<Error> {
  return connecting.then(
    () => expect.fail('it connected'),
    (error: unknown) => error as Error,
  );
}

describe('a connection to Redis', () => {
  const cleanups: (() => unknown)[] = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  });

  function broker(settings: RedisSettings, connectTimeout?: number): RedisBroker {
    const created = newRedisBroker(settings, randomUUID(), connectTimeout);
    cleanups.push(() => created.close());
    return created;
  }

  describe('settings', () => {
    const partition = { topic: 'orders', index: 0 };

    it('may be a URL, options or a client', async () => {
      const url = inject('redisUrl');
      const { hostname: host, port } = new URL(url);
      const client = new Redis(url, { lazyConnect: true });
      cleanups.push(() => client.disconnect());

      for (const settings of [url, { host, port: Number(port) }, client]) {
        const connected = broker(settings);
        await connected.connect();
        // Only reads, since all tests share this Redis.
        expect(await connected.messages.stats(partition)).toMatchObject({ scheduled: 0, owner: undefined });
      }
    });

    it("do not touch the application's client", async () => {
      const client = new Redis(inject('redisUrl'));
      cleanups.push(() => client.disconnect());
      const connected = broker(client);
      await connected.connect();
      await connected.close();

      expect(connected.client).not.toBe(client);
      expect(await client.ping()).toBe('PONG');
    });

    it.each<[string, RedisSettings]>([
      ['a server', 'redis://127.0.0.1:6379'],
      ['Sentinel', { name: 'mymaster', sentinels: [{ host: '127.0.0.1', port: 26379 }] }],
      ['a cluster', { nodes: ['redis://127.0.0.1:7000'] }],
    ])(
      'of %s set no timer before it is connected: it would keep an application alive that fails to boot',
      (_, settings) => {
        const setTimer = vi.spyOn(SystemClock.prototype, 'setTimer');
        onTestFinished(() => setTimer.mockRestore());
        broker(settings);
        expect(setTimer).not.toHaveBeenCalled();
      },
    );

    const WITH_KEY_PREFIX: Readonly<Record<string, () => RedisSettings>> = {
      options: () => ({ host: '127.0.0.1', keyPrefix: 'app:' }),
      'a client': () => new Redis({ host: '127.0.0.1', keyPrefix: 'app:', lazyConnect: true }),
      'a URL': () => 'redis://127.0.0.1:6379?keyPrefix=app:',
      'the options of a cluster': () => ({ nodes: ['redis://127.0.0.1:7000'], options: { keyPrefix: 'app:' } }),
      "the options of a cluster's nodes": () => ({
        nodes: ['redis://127.0.0.1:7000'],
        options: { redisOptions: { keyPrefix: 'app:' } },
      }),
      'a cluster client': () => new Cluster(['redis://127.0.0.1:7000'], { keyPrefix: 'app:', lazyConnect: true }),
    };
    for (const [where, settings] of Object.entries(WITH_KEY_PREFIX)) {
      it(`with a keyPrefix in ${where} are refused with advice`, () => {
        expect(() => broker(settings())).toThrow(ConfigurationError);
        expect(() => broker(settings())).toThrow(/keyPrefix.*'app:'.*option 'prefix'/);
      });
    }
  });

  describe('the version of the server', () => {
    for (const [version, name] of [
      ['5.0.7', 'Redis 5'],
      ['6.0.16', 'Redis 6.0'],
    ]) {
      it(`${name} is too old, and the error says what is needed`, async () => {
        const server = await startFakeRedis(`# Server\r\nredis_version:${version}\r\nredis_mode:standalone\r\n`);
        cleanups.push(() => server.stop());

        const error = await failureOf(broker({ host: '127.0.0.1', port: server.port }).connect());

        expect(error).toBeInstanceOf(ConfigurationError);
        expect(error.message).toContain(`127.0.0.1:${server.port}`);
        expect(error.message).toContain(String(version?.split('.').slice(0, 2).join('.')));
        expect(error.message).toContain('6.2');
        expect(server.commands).toContain('INFO');
      });
    }

    for (const info of ['redis_version:6.2.0', 'server_name:valkey\r\nredis_version:7.2.4\r\nvalkey_version:9.0.0']) {
      it(`${info.replaceAll('\r\n', ' ')} is new enough`, async () => {
        const server = await startFakeRedis(`# Server\r\n${info}\r\nredis_mode:standalone\r\n`);
        cleanups.push(() => server.stop());

        await broker({ host: '127.0.0.1', port: server.port }).connect();

        expect(server.commands).toContain('INFO');
      });
    }

    it('is refused if the server does not report it', async () => {
      const server = await startFakeRedis('# Server\r\n');
      cleanups.push(() => server.stop());

      expect(await failureOf(broker({ port: server.port }).connect())).toBeInstanceOf(ConfigurationError);
    });
  });

  describe('if Redis cannot be reached', () => {
    it('connect() rejects with host and port', async () => {
      const port = await freePort();

      for (const settings of [`redis://user:secret@127.0.0.1:${port}`, { host: '127.0.0.1', port }]) {
        const error = await failureOf(broker(settings).connect());

        expect(error).toBeInstanceOf(BrokerUnavailableError);
        expect(error).toMatchObject({ code: 'BROKER_UNAVAILABLE', transient: true });
        expect(error.message).toContain(`127.0.0.1:${port}`);
        expect(error.message).toContain('ECONNREFUSED');
        expect(error.message).not.toContain('secret');
      }
    });

    it('connect() rejects after its timeout, even if the server accepts and says nothing', async () => {
      const server = createServer((socket) => socket.on('error', () => {}));
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      cleanups.push(() => server.close());
      const { port } = server.address() as { port: number };

      const error = await failureOf(broker({ host: '127.0.0.1', port }, 100).connect());

      expect(error).toBeInstanceOf(BrokerUnavailableError);
      expect(error.message).toContain(`127.0.0.1:${port}`);
      expect(error.message).toContain('100 ms');
    });

    it('connect() rejects if the password is wrong, and says so', async () => {
      const redis = await startRedis();
      cleanups.push(() => redis.stop());
      const admin = new Redis(redis.url);
      cleanups.push(() => admin.disconnect());
      await admin.config('SET', 'requirepass', 'right');

      for (const [settings, advice] of [
        [{ port: redis.port, password: 'wrong' }, /refused the user name or password/],
        [{ port: redis.port }, /asks for a password/],
      ] as const) {
        const error = await failureOf(broker({ host: '127.0.0.1', ...settings }).connect());
        expect(error).toBeInstanceOf(BrokerUnavailableError);
        expect(error.message).toContain(`127.0.0.1:${redis.port}`);
        expect(error.message).toMatch(advice);
        expect(error).toMatchObject({ transient: false });
      }
    });

    it('a call rejects as one that may be repeated, and works once the server is back', async () => {
      const partition = { topic: 'orders', index: 0 };
      const redis = await startRedis();
      cleanups.push(() => redis.stop());
      const connected = broker(redis.url);
      await connected.connect();
      const available = new Received<void>();
      connected.onAvailable(() => available.listener());
      const other = new Redis(redis.url);
      cleanups.push(() => other.disconnect());

      await other.call('CLIENT', 'KILL', 'TYPE', 'normal');
      await other.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
      await available.atLeast(1);

      expect(await connected.messages.publish(partition, CALL, [message('a')])).toMatchObject([{ status: 'created' }]);
    });

    it('calls reject at once while the server is gone', async () => {
      const redis = await startRedis();
      cleanups.push(() => redis.stop());
      const connected = broker(redis.url);
      await connected.connect();
      await redis.stop();

      const error = await connected.messages.stats({ topic: 'orders', index: 0 }).catch((reason: unknown) => reason);

      expect(error).toBeInstanceOf(BrokerUnavailableError);
      expect(error).toMatchObject({ transient: true });
      expect((error as Error).message).toContain(`127.0.0.1:${redis.port}`);
    });
  });

  describe('signals', () => {
    it('come again after the connection was cut', async () => {
      const redis = await startRedis();
      cleanups.push(() => redis.stop());
      const partition = { topic: 'orders', index: 0 };
      const connected = broker(redis.url);
      await connected.connect();
      const signals = new Received<unknown>();
      connected.watchPartition(partition, signals.listener);
      await connected.link.listen();
      const other = new Redis(redis.url);
      cleanups.push(() => other.disconnect());

      await other.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
      // Signals may get lost until the connection has subscribed again, so they are sent until one arrives.
      for (let at = 1_000_000; signals.all.length === 0; at--) {
        const call = { caller: 'test', sequence: 2_000_000 - at };
        await connected.messages.publish(partition, call, [message(`at ${at}`, { due: { at } })]);
      }

      expect(signals.all[0]).toMatchObject({ kind: 'due' });
    });
  });
});
