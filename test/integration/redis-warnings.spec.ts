import { randomUUID } from 'node:crypto';
import * as ioredis from 'ioredis';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RedisBroker } from '../../lib/engines/redis/redis.broker.js';
import { SystemClock } from '../../lib/time/clock.js';
import { type PrivateRedis, startRedis } from '../support/servers/redis-server.js';

/** Settings with which Redis loses nothing. */
const SAFE = { 'maxmemory-policy': 'noeviction', appendonly: 'yes', save: '' };

describe('the boot warns of', () => {
  let server: PrivateRedis;
  let admin: Redis;

  beforeAll(async () => {
    server = await startRedis();
    admin = new Redis(server.url);
  });

  afterAll(async () => {
    admin.disconnect();
    await server.stop();
  });

  async function warnings(settings: Record<string, string>): Promise<string[]> {
    for (const [name, value] of Object.entries({ ...SAFE, ...settings })) await admin.config('SET', name, value);
    const warned: string[] = [];
    const log = { log: () => {}, error: () => {}, warn: (message: string) => warned.push(message) };
    const broker = new RedisBroker({
      ioredis,
      redis: server.url,
      prefix: randomUUID(),
      connectTimeout: 5000,
      clock: new SystemClock(),
      log,
    });
    await broker.connect();
    await broker.close();
    return warned;
  }

  it('nothing, if Redis keeps its data', async () => {
    expect(await warnings({})).toEqual([]);
    expect(await warnings({ appendonly: 'no', save: '60 1' })).toEqual([]);
  });

  it('an eviction policy that deletes messages', async () => {
    const [warning, ...others] = await warnings({ 'maxmemory-policy': 'allkeys-lru' });
    expect(warning).toContain(`127.0.0.1:${server.port}`);
    expect(warning).toContain("'allkeys-lru'");
    expect(warning).toContain('noeviction');
    expect(others).toEqual([]);
  });

  it('no persistence', async () => {
    const [warning, ...others] = await warnings({ appendonly: 'no' });
    expect(warning).toContain('keeps nothing on disk');
    expect(others).toEqual([]);
  });

  it.each([
    [-90_000, '90.0 s behind'],
    [90_000, '90.0 s ahead of'],
  ])('a clock that is off by %i ms', async (offset, text) => {
    const wallClock = Date.now;
    Date.now = () => wallClock() + offset;
    const [warning, ...others] = await warnings({}).finally(() => {
      Date.now = wallClock;
    });
    expect(warning).toContain(text);
    expect(others).toEqual([]);
  });
});
