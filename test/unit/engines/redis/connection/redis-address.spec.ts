import { Cluster, type ClusterNode, Redis, type RedisOptions } from 'ioredis';
import { describe, expect, it } from 'vitest';
import {
  addressOf,
  clientEndpoints,
  clusterAddress,
} from '../../../../../lib/engines/redis/connection/redis-address.js';
import { shown } from '../../../../support/shown.js';

const ADDRESSES: readonly (readonly [settings: string | RedisOptions, address: string])[] = [
  ['redis://localhost:6380', 'localhost:6380'],
  ['redis://localhost', 'localhost:6379'],
  ['redis://user:secret@example.org:7000/3', 'example.org:7000 (database 3)'],
  ['rediss://:secret@example.org', 'example.org:6379'],
  ['redis://[::1]:7000', '[::1]:7000'],
  ['redis://user:secret@example.org:7000?db=2&password=secret', 'example.org:7000 (database 2)'],
  ['/tmp/redis.sock', '/tmp/redis.sock'],
  ['/tmp/redis.sock?password=secret', '/tmp/redis.sock'],
  [{}, 'localhost:6379'],
  [{ host: 'example.org' }, 'example.org:6379'],
  [{ port: 7000 }, 'localhost:7000'],
  [{ host: 'example.org', port: 7000, username: 'user', password: 'secret' }, 'example.org:7000'],
  [{ host: 'redis://user:secret@example.org' }, '(a host that is not shown)'],
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

/** The options as ioredis reads them. */
function optionsOf(settings: string | RedisOptions): RedisOptions {
  const options = { lazyConnect: true };
  return typeof settings === 'string' ? new Redis(settings, options).options : { ...settings, ...options };
}

describe('addressOf', () => {
  for (const [settings, address] of ADDRESSES) {
    it(`of ${shown(settings)} is ${address}`, () => {
      expect(addressOf(optionsOf(settings))).toBe(address);
    });
  }
});

describe('clusterAddress', () => {
  const NODES: readonly (readonly [node: ClusterNode, address: string])[] = [
    [{ host: 'example.org', port: 7000 }, 'example.org:7000'],
    [{}, '127.0.0.1:6379'],
    [7000, '127.0.0.1:7000'],
    ['7000', '127.0.0.1:7000'],
    ['redis://user:secret@example.org:7000', 'example.org:7000'],
    ['rediss://:secret@example.org', 'example.org:6379'],
    ['user:secret@example.org:7000', 'example.org:7000'],
    ['//user:secret@example.org:7000', 'example.org:7000'],
    ['redis://[::1]:7000', '[::1]:7000'],
    ['user:secret@example.org:port', '(a host that is not shown)'],
  ];
  for (const [node, address] of NODES) {
    it(`of ${shown(node)} is ${address}`, () => {
      expect(clusterAddress([node, 7001])).toBe(`cluster ${address}, 127.0.0.1:7001`);
    });
  }
});

describe('clientEndpoints', () => {
  it('are those of the nodes of a cluster, even if it was never connected', () => {
    const cluster = new Cluster(['redis://:secret@example.org:7000', 7001], { lazyConnect: true });
    expect(clientEndpoints(cluster)).toEqual([
      { host: 'example.org', port: 7000 },
      { host: '127.0.0.1', port: 7001 },
    ]);
  });
});
