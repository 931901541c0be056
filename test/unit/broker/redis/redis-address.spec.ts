import type { RedisOptions } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { addressOf } from '../../../../lib/broker/redis/redis-address.js';
import { shown } from '../../../support/contract-shown.js';

describe('addressOf', () => {
  const ADDRESSES: readonly (readonly [settings: string | RedisOptions, address: string])[] = [
    ['redis://localhost:6380', 'localhost:6380'],
    ['redis://localhost', 'localhost:6379'],
    ['redis://user:secret@example.org:7000/3', 'example.org:7000'],
    ['rediss://:secret@example.org', 'example.org:6379'],
    ['redis://[::1]:7000', '[::1]:7000'],
    ['redis://user:secret@example.org:7000?db=2&password=secret', 'example.org:7000'],
    ['example.org:7000', 'example.org:7000'],
    ['user:secret@example.org:7000', 'example.org:7000'],
    ['example.org:7000?password=secret', 'example.org:7000'],
    ['//user:secret@example.org:7000', 'example.org:7000'],
    ['/tmp/redis.sock', '/tmp/redis.sock'],
    ['/tmp/redis.sock?password=secret', '/tmp/redis.sock'],
    [{}, 'localhost:6379'],
    [{ host: 'example.org' }, 'example.org:6379'],
    [{ port: 7000 }, 'localhost:7000'],
    [{ host: 'example.org', port: 7000, username: 'user', password: 'secret' }, 'example.org:7000'],
    [{ path: '/tmp/redis.sock', password: 'secret' }, '/tmp/redis.sock'],
    [
      {
        sentinels: [
          { host: 'a', port: 1 },
          { host: 'b', port: 2 },
        ],
        name: 'main',
        sentinelPassword: 'secret',
      },
      'sentinels a:1, b:2 (main)',
    ],
  ];
  for (const [settings, address] of ADDRESSES) {
    it(`of ${shown(settings)} has neither user name nor password`, () => {
      expect(addressOf(settings)).not.toContain('secret');
      expect(addressOf(settings)).toContain(address);
    });
  }
});
