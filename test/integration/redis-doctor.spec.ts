import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { DoctorCheck, DoctorFinding } from '../../lib/store/inspection.interface.js';
import type { RedisSettings } from '../../lib/engines/redis/connection/which-redis.js';
import { checkRedis } from '../../lib/composition/create-delay-queue-admin.js';
import { SILENT } from '../support/broker/redis-bed.js';
import { servesClusters } from '../support/servers/ioredis.js';
import { startRedisCluster } from '../support/servers/redis-cluster.js';
import { IS_REDIS_7, type PrivateRedis, freePort, startRedis } from '../support/servers/redis-server.js';
import { until } from '../support/waiting.js';

/** With which a server has nothing amiss. */
const SAFE = { 'maxmemory-policy': 'noeviction', maxmemory: '0', appendonly: 'yes', save: '' };

/** What is said of any Redis 6.2, which has no script flags. */

function amiss(findings: readonly DoctorFinding[]): DoctorCheck[] {
  return findings.filter(({ level }) => level !== 'ok').map(({ check }) => check);
}

function of(findings: readonly DoctorFinding[], check: DoctorCheck): DoctorFinding | undefined {
  return findings.find((finding) => finding.check === check);
}

describe('the doctor', () => {
  let server: PrivateRedis;
  let redis: Redis;
  let prefix: string;

  beforeAll(async () => {
    server = await startRedis(['--appendonly', 'yes']);
    redis = new Redis(server.url);
  });
  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });
  beforeEach(() => {
    prefix = randomUUID();
  });
  afterEach(async () => {
    for (const [name, value] of Object.entries(SAFE)) await redis.config('SET', name, value);
  });

  async function examine(settings: RedisSettings = server.url): Promise<DoctorFinding[]> {
    return (await checkRedis({ redis: settings, prefix, log: SILENT })).findings;
  }

  /** As a user with these rights. */
  async function examineAs(...rules: string[]): Promise<DoctorFinding[]> {
    await redis.acl('SETUSER', 'limited', 'reset', 'on', '>secret', ...rules);
    onTestFinished(async () => {
      await redis.acl('DELUSER', 'limited');
    });
    return examine(`redis://limited:secret@127.0.0.1:${server.port}`);
  }

  async function keys(): Promise<string[]> {
    return redis.keys(`{${prefix}[:}]*`);
  }

  it('finds nothing amiss on a server in order, and leaves nothing', async () => {
    const findings = await examine();

    expect(amiss(findings)).toEqual([]);
    expect(of(findings, 'version')?.message).toMatch(/Redis \d+\.\d+\.\d+/);
    expect(of(findings, 'signals')?.message).toContain('plain pub/sub');
    expect(await keys()).toEqual([]);
    expect(await redis.pubsub('CHANNELS', '*')).toEqual([]);
  });

  it.each<[DoctorCheck, string, Record<string, string>, DoctorFinding['level'], RegExp]>([
    ['eviction', 'that deletes messages', { 'maxmemory-policy': 'allkeys-lru' }, 'error', /'allkeys-lru'/],
    ['persistence', 'of nothing', { appendonly: 'no' }, 'error', /keeps nothing on disk/],
    ['persistence', 'of snapshots', { appendonly: 'no', save: '60 1' }, 'warning', /snapshots only/],
    ['memory', 'that is full', { maxmemory: '1024' }, 'error', /maxmemory of 1\.0 KiB/],
    ['replicas', 'that are missing', { 'min-replicas-to-write': '1' }, 'error', /refuses every write/],
  ])('finds %s %s', async (check, _, settings, level, message) => {
    onTestFinished(async () => {
      await redis.config('SET', 'min-replicas-to-write', '0');
    });
    for (const [name, value] of Object.entries(settings)) await redis.config('SET', name, value);

    const finding = of(await examine(), check);

    expect(finding).toMatchObject({ level, message: expect.stringMatching(message) as string });
  });

  it('finds the keys that were set aside', async () => {
    const key = `{${prefix}:orders:3}:messages:set-aside`;
    await redis.set(key, 'of another program');

    const finding = of(await examine(), 'set-aside');

    expect(finding?.level).toBe('warning');
    expect(finding?.message).toContain(key);
  });

  it('finds calls of scripts that took long', async () => {
    const busy = `local s = redis.call('TIME') repeat local t = redis.call('TIME') until (t[1] - s[1]) * 1000000 + t[2] - s[2] > 20000`;
    await redis.eval(busy, 1, `{${prefix}:orders:3}:messages`);

    expect(of(await examine(), 'slow-scripts')).toMatchObject({ level: 'warning' });
  });

  it('finds that the clock of this machine is wrong', async () => {
    const wallClock = Date.now;
    Date.now = () => wallClock() + 90_000;
    const findings = await examine().finally(() => {
      Date.now = wallClock;
    });

    expect(of(findings, 'clock')).toMatchObject({
      level: 'warning',
      message: expect.stringContaining('90.0 s ahead of') as string,
    });
  });

  it('finds that a server is a replica, and that its primary has it', async () => {
    const replica = await startRedis(['--replicaof', '127.0.0.1', String(server.port), '--appendonly', 'yes']);
    onTestFinished(() => replica.stop());
    const primary = await until('the replica to have all', async () => {
      const findings = await examine();
      const confirmed = of(findings, 'wait')?.message.includes('1 of 1 replica confirmed') === true;
      const online = of(findings, 'replication-lag')?.message.includes('none is behind') === true;
      return confirmed && online ? findings : undefined;
    });

    expect(of(primary, 'replicas')).toMatchObject({
      level: 'warning',
      message: expect.stringContaining('has 1 replica and takes writes without') as string,
    });
    expect(of(primary, 'replication-lag')).toMatchObject({ level: 'ok' });
    const findings = await examine(replica.url);
    expect(of(findings, 'role')).toMatchObject({ level: 'error' });
  });

  describe('with a user that may not do everything', () => {
    const ALL = ['~*', '&*', '+@all'];

    it('names the commands that are refused, and makes the other checks', async () => {
      const findings = await examineAs(...ALL, '-zadd', '-hdel');

      expect(amiss(findings)).toEqual(['rights']);
      expect(of(findings, 'rights')).toMatchObject({
        level: 'error',
        message: expect.stringMatching(/HDEL: .*ZADD: /) as string,
      });
    });

    it('says what is unknown with the documented rights alone', async () => {
      const findings = await examineAs(...ALL, '-@dangerous', '-config', '-wait', '-slowlog', '-scan', '+info');

      const unknown = findings.filter(({ message }) => message.includes('unknown'));
      expect(unknown.map(({ check, level }) => [check, level])).toEqual(
        ['persistence', 'replicas', 'wait', 'slow-scripts', 'set-aside', 'prefix'].map((check) => [check, 'warning']),
      );
      for (const { message } of unknown) expect(message).toMatch(/NOPERM/);
      expect(JSON.stringify(findings)).not.toContain('secret');
    });

    it('finds that signals do not come', async () => {
      const findings = await examineAs(...ALL, '-subscribe');

      expect(of(findings, 'signals')).toMatchObject({
        level: 'error',
        message: expect.stringMatching(/does not bring signals back.*NOPERM/) as string,
      });
    });

    it('finds that no script runs', async () => {
      const findings = await examineAs(...ALL, '-@scripting');

      expect(of(findings, 'rights')).toMatchObject({
        level: 'error',
        message: expect.stringMatching(/does not run our scripts.*eval/) as string,
      });
    });
  });

  it('finds only that Redis cannot be reached', async () => {
    const port = await freePort();
    const findings = await examine(`redis://user:secret@127.0.0.1:${port}`);

    expect(findings).toMatchObject([{ check: 'connection', level: 'error' }]);
    expect(findings[0]?.message).toContain(`127.0.0.1:${port}`);
    expect(findings[0]?.message).not.toContain('secret');
  });

  // A Cluster needs ioredis 6.
  it.each(servesClusters ? [2] : [])(
    'looks at each of the %i masters of a Cluster, and finds slots of nobody and a client for a single server',
    async (masters) => {
      const cluster = await startRedisCluster(masters, [
        '--cluster-require-full-coverage',
        'no',
        '--appendonly',
        'yes',
      ]);
      onTestFinished(() => cluster.stop());
      const [first, second] = cluster.servers;
      const node = new Redis(first?.url ?? '');
      onTestFinished(() => node.disconnect());
      await node.config('SET', 'maxmemory-policy', 'allkeys-lru');

      const whole = await examine({ nodes: cluster.nodes });
      expect(amiss(whole)).toEqual(['eviction', 'replicas', 'replicas']);
      expect(of(whole, 'signals')?.message).toContain(IS_REDIS_7 ? 'sharded pub/sub' : 'plain pub/sub');
      expect(of(whole, 'eviction')?.message).toContain(`127.0.0.1:${first?.port} has`);
      for (const { port } of cluster.servers) expect(of(whole, 'version')?.message).toContain(`127.0.0.1:${port}`);

      // A slot that is not the one of the trial of commands, whatever the prefix.
      const used = await node.cluster('KEYSLOT', `{${prefix}:probe:0}`);
      await node.cluster('DELSLOTS', used === 0 ? 1 : 0);
      const holed = await examine({ nodes: cluster.nodes });
      expect(of(holed, 'cluster')).toMatchObject({
        level: 'error',
        message: expect.stringContaining('1 of 16384 slots belong to no node') as string,
      });

      const plain = await examine(second?.url);
      expect(of(plain, 'client')).toMatchObject({
        level: 'error',
        message: expect.stringContaining('is a node of a Redis Cluster') as string,
      });
    },
  );
});
