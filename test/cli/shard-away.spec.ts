import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { type Outcome, runInProcess } from '../support/cli/run-in-process.js';
import { type PrivateCluster, startRedisCluster } from '../support/servers/redis-cluster.js';
import type { PrivateRedis } from '../support/servers/redis-server.js';

it('a shard that is away hides nothing of what the others hold', async () => {
  const cluster = await startRedisCluster(3, ['--cluster-require-full-coverage', 'no']);
  onTestFinished(() => cluster.stop());
  const env = { DELAY_QUEUE_REDIS: JSON.stringify({ nodes: cluster.nodes }), DELAY_QUEUE_PREFIX: 'shards' };
  const run = async (...args: readonly string[]): Promise<Outcome> =>
    runInProcess([...args, '--redis-timeout', '2s'], { env });
  for (let n = 0; n < 8; n++) await run('publish', 'jobs', '1', '--id', String(n), '--delay', '30m');

  // With these names it has some of the partitions and the topic itself, but not the list of topics.
  await (await shardWith(cluster, '{shards:jobs}:config')).stop();
  const gone = [2, 3, 6, 7];
  const { code, stdout } = await run('stats', 'jobs', '--json');
  expect(code).toBe(3);
  const stats = JSON.parse(stdout) as { scheduled: number; partitions: { scheduled: number }[] };
  expect(stats).toMatchObject({ unreachable: gone, partitions: [0, 1, 4, 5].map((partition) => ({ partition })) });
  expect(stats.scheduled).toBeGreaterThan(0);
  expect((await run('stats', 'jobs')).stdout).toMatch(/^partitions +4, .*\nunreachable +2 3 6 7, not counted$/m);
  const overview = await run('stats');
  expect(overview).toMatchObject({ code: 3, stderr: '' });
  expect(overview.stdout).toMatch(/^jobs .* 4 of 8 partitions do not answer and are not counted$/m);

  const agenda = await run('agenda', 'jobs', '--json');
  expect(agenda.code).toBe(3);
  expect(JSON.parse(agenda.stdout)).toMatchObject({
    scheduled: stats.scheduled,
    unreachable: [{ topic: 'jobs', partitions: gone }],
  });
  expect((await run('agenda')).stdout).toMatch(/^Not counted, .* partitions 2 3 6 7 of jobs\.$/m);
  expect(await run('peek', 'jobs')).toMatchObject({ code: 3, stdout: '' });
});

async function shardWith(cluster: PrivateCluster, key: string): Promise<PrivateRedis> {
  for (const server of cluster.servers) {
    const redis = new Redis(server.url);
    const keys = await redis.keys('*').finally(() => redis.disconnect());
    if (keys.includes(key)) return server;
  }
  throw new Error(`No shard has ${key}.`);
}
