import { describe, expect, it } from 'vitest';
import { DOCTOR_CHECKS, type DoctorCheck } from '../../../../../lib/store/inspection.interface.js';
import { checkServer } from '../../../../../lib/engines/redis/doctor/server-checks.js';
import {
  type Facts,
  bootWarnings,
  found,
  refused,
  serverOf,
  silent,
} from '../../../../support/units/inspected-server.js';

const asCluster = { server: { isClusterClient: true } };

describe('a server in perfect order', () => {
  it.each([
    ['alone', {}],
    ['as a node of a Cluster', { ...asCluster, info: { cluster_enabled: '1' } }],
  ])('has one finding for each check, in their order, and nothing to do: %s', async (_, facts: Facts) => {
    const findings = await checkServer(serverOf(facts));

    expect(findings.map(({ check }) => check)).toEqual(DOCTOR_CHECKS.filter((check) => check !== 'topics'));
    expect(findings.filter(({ level, advice }) => level !== 'ok' || advice !== '')).toEqual([]);
  });
});

describe('a server with something amiss', () => {
  it.each<[DoctorCheck, string, Facts, 'ok' | 'warning' | 'error', RegExp]>([
    ['version', 'Redis 6.0', { info: { redis_version: '6.0.16' } }, 'error', /is Redis 6\.0\.16/],
    [
      'version',
      'Valkey',
      { info: { valkey_version: '8.0.1', gcc_version: '12.2.0' } },
      'ok',
      /valkey 8\.0\.1 \(compatible with Redis 7\.2\.4\)/,
    ],
    ['version', 'Dragonfly', { info: { dragonfly_version: 'df-v1.40.1' } }, 'ok', /dragonfly df-v1\.40\.1/],
    ['active-active', 'KeyDB', { info: { role: 'active-replica' } }, 'error', /other servers take writes beside it/],
    [
      'client',
      'a plain client on a node',
      { info: { cluster_enabled: '1' } },
      'error',
      /is a node of a Redis Cluster.*MOVED/,
    ],
    [
      'client',
      'a plain client on the only node',
      { info: { cluster_enabled: '1' }, cluster: { cluster_size: '1' } },
      'warning',
      /has all slots now/,
    ],
    ['role', 'a replica', { info: { role: 'slave' } }, 'error', /is a replica \(role slave\)/],
    ['loading', 'loading', { info: { loading: '1', loading_eta_seconds: '12' } }, 'warning', /for about 12 s more/],
    [
      'eviction',
      'of any key',
      { info: { maxmemory_policy: 'allkeys-lru' } },
      'error',
      /'allkeys-lru'.*deletes messages/,
    ],
    [
      'eviction',
      'of keys that expire',
      { info: { maxmemory_policy: 'volatile-ttl' } },
      'warning',
      /'volatile-ttl'.*id exists/,
    ],
    ['memory', 'full', { info: { used_memory: '11534336' } }, 'error', /11\.0 MiB.*maxmemory of 10\.0 MiB \(110 %\)/],
    ['memory', 'nearly full', { info: { used_memory: '8388608' } }, 'warning', /\(80 %\)/],
    [
      'memory',
      'full but for what does not count',
      { info: { used_memory: '11534336', mem_not_counted_for_evict: '8388608' } },
      'ok',
      /3\.0 MiB/,
    ],
    [
      'memory',
      'without a limit on a small machine',
      { info: { maxmemory: '0', total_system_memory: '1200000' } },
      'warning',
      /no limit.*may end Redis/,
    ],
    ['evicted-keys', 'some', { info: { evicted_keys: '7' } }, 'warning', /deleted 7 keys/],
    ['persistence', 'none', { info: { aof_enabled: '0' } }, 'error', /keeps nothing on disk/],
    [
      'persistence',
      'snapshots',
      { info: { aof_enabled: '0', rdb_changes_since_last_save: '42' }, config: { save: '60 1' } },
      'warning',
      /snapshots only.*42 changes/,
    ],
    ['persistence', 'no fsync', { config: { appendfsync: 'no' } }, 'warning', /appendfsync no/],
    ['persistence', 'fsync at every write', { config: { appendfsync: 'always' } }, 'ok', /loses nothing/],
    ['disk', 'full', { info: { aof_last_write_status: 'err' } }, 'error', /could not write to its append-only file/],
    ['disk', 'no snapshot', { info: { rdb_last_bgsave_status: 'err' } }, 'error', /could not make a snapshot/],
    [
      'replicas',
      'too few in step',
      { info: { min_slaves_good_slaves: '1' }, config: { 'min-replicas-to-write': '2' } },
      'error',
      /1 of them in step.*only with 2/,
    ],
    ['replicas', 'not waited for', { config: { 'min-replicas-to-write': '0' } }, 'warning', /min-replicas-to-write 0/],
    [
      'replicas',
      'none in a Cluster',
      { ...asCluster, info: { connected_slaves: '0' }, config: { 'min-replicas-to-write': '0' } },
      'warning',
      /0 replicas/,
    ],
    [
      'replication-lag',
      'joining',
      { info: { slave0: 'ip=10.0.0.2,port=6379,state=wait_bgsave,offset=0,lag=0' } },
      'warning',
      /10\.0\.0\.2:6379 is in state 'wait_bgsave'/,
    ],
    [
      'replication-lag',
      'silent',
      { info: { slave0: 'ip=10.0.0.2,port=6379,state=online,offset=99999999,lag=30' } },
      'warning',
      /last heard of 30 s ago/,
    ],
    [
      'replication-lag',
      'behind',
      { info: { slave0: 'ip=10.0.0.2,port=6379,state=online,offset=47571200,lag=0' } },
      'warning',
      /50\.0 MiB behind/,
    ],
    ['wait', 'a replica that is not in step', { node: { wait: async () => 0 } }, 'warning', /0 of 1 replica confirmed/],
    ['wait', 'denied', { node: { wait: refused } }, 'warning', /unknown.*NOPERM/],
    [
      'rights',
      'a command refused',
      { server: { refusals: async () => ['ZADD: NOPERM …'] } },
      'error',
      /refuses what is needed: ZADD: NOPERM/,
    ],
    [
      'rights',
      'a command refused that a consumer needs, seen by an operator',
      { server: { role: 'operator', refusals: async () => ['HKEYS: NOPERM …'] } },
      'warning',
      /every command that an operator needs.*A consumer would be refused HKEYS: NOPERM/,
    ],
    [
      'rights',
      'the same seen by a producer',
      { server: { role: 'producer', refusals: async () => ['HKEYS: NOPERM …'] } },
      'ok',
      /every command that is needed/,
    ],
    [
      'rights',
      'a command refused that a producer needs',
      { server: { role: 'producer', refusals: async () => ['ZADD: NOPERM …', 'HKEYS: NOPERM …'] } },
      'error',
      /refuses what is needed: ZADD: NOPERM …\./,
    ],
    ['rights', 'no scripts', { server: { refusals: refused } }, 'error', /does not run our scripts/],
    ['rights', 'no answer', { server: { refusals: silent } }, 'warning', /unknown.*No answer/],
    ['script-time', 'refused', { node: { timeInScript: refused } }, 'error', /does not tell the time within scripts/],
    ['script-time', 'no answer', { node: { timeInScript: silent } }, 'warning', /unknown/],
    ['signals', 'no echo', { server: { echo: silent } }, 'error', /does not bring signals back \(sharded pub\/sub\)/],
    ['clock', 'behind', { node: { clockOffset: async () => 90_000 } }, 'warning', /this machine is 90\.0 s behind/],
    ['clock', 'ahead', { node: { clockOffset: async () => -2500 } }, 'warning', /this machine is 2\.5 s ahead of/],
    [
      'cluster',
      'slots of nobody',
      { ...asCluster, cluster: { cluster_slots_assigned: '16000' } },
      'error',
      /384 of 16384 slots belong to no node/,
    ],
    [
      'cluster',
      'a shard away',
      { ...asCluster, cluster: { cluster_slots_fail: '5461', cluster_state: 'fail' } },
      'error',
      /state 'fail'.*5461 slots are failing/,
    ],
    [
      'cluster',
      'all or nothing',
      { ...asCluster, config: { 'cluster-require-full-coverage': 'yes' } },
      'warning',
      /all others stop as well/,
    ],
    ['connections', 'nearly all', { info: { connected_clients: '8000' } }, 'warning', /8000 of at most 10000/],
    ['connections', 'rejected', { info: { rejected_connections: '3' } }, 'warning', /has rejected 3/],
    [
      'slow-scripts',
      'two',
      {
        node: {
          slowCalls: async () => [
            { script: 'claim', duration: 12.4, at: 1_767_225_600 },
            { script: 'settle', duration: 40, at: 1_767_225_600 },
          ],
        },
      },
      'warning',
      /2 calls.*settle, took 40 ms \(2026-01-01T00:00:00\.000Z\)/,
    ],
    [
      'set-aside',
      'more than are named',
      { node: { setAside: async () => ({ keys: ['a', 'b', 'c', 'd', 'e', 'f'], complete: false }) } },
      'warning',
      /as far as its keys were looked through, 6 keys.*a, b, c, d, e, …/,
    ],
  ])('%s, %s', async (check, _, facts, level, message) => {
    const findings = await found(facts, check);

    expect(findings).toHaveLength(1);
    expect(findings[0]).toMatchObject({ level, message: expect.stringMatching(message) as string });
    expect(findings[0]?.advice === '').toBe(level === 'ok');
  });
});

describe('a server that does not tell', () => {
  it('has a warning that says unknown for each check that asked for it, and the other checks are made', async () => {
    const findings = await checkServer(serverOf({ node: { info: refused } }));
    const unknown = findings.filter(({ message }) => message.includes('unknown'));

    expect(findings.map(({ check }) => check)).toEqual(DOCTOR_CHECKS.filter((check) => check !== 'topics'));
    expect(unknown.map(({ check }) => check)).toEqual([
      'version',
      'active-active',
      'client',
      'role',
      'loading',
      'eviction',
      'memory',
      'evicted-keys',
      'persistence',
      'disk',
      'replicas',
      'replication-lag',
      'wait',
      'connections',
    ]);
    for (const { level, message } of unknown) {
      expect([level, message]).toEqual(['warning', expect.stringContaining('ASKED: NOPERM no permission')]);
    }
    expect(findings.find(({ check }) => check === 'rights')).toMatchObject({ level: 'ok' });
  });

  it('says which field is missing', async () => {
    const [finding] = await found({ info: { maxmemory_policy: undefined } }, 'eviction');
    expect(finding?.message).toContain("INFO does not tell 'maxmemory_policy'");
  });

  it('is not warned of at boot', async () => {
    expect(await bootWarnings(serverOf({ node: { info: refused, clockOffset: refused } }))).toEqual([]);
  });
});
