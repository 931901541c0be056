import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { type Outcome, runInProcess } from '../support/cli/run-in-process.js';
import { type PrivateCluster, startRedisCluster } from '../support/servers/redis-cluster.js';
import type { PrivateRedis } from '../support/servers/redis-server.js';

it('a shard that is away hides nothing of what the others hold', async () => {
  const cluster = await startRedisCluster(3, ['--cluster-require-full-coverage', 'no']);
  onTestFinished(() => cluster.stop());
  const env = { DELAY_QUEUE_REDIS: JSON.stringify({ nodes: cluster.nodes }), DELAY_QUEUE_PREFIX: 'shards' };
  const run = async (line: string): Promise<Outcome> => runInProcess(line.split(' '), { env });
  for (let n = 0; n < 8; n++) {
    expect(await run(`publish jobs 1 --id ${n} --delay 30m`)).toMatchObject({ code: 0 });
  }

  // With these names it has some of the partitions and the topic itself, but not the list of topics.
  await (await shardWith(cluster, '{shards:jobs}:config')).stop();
  const gone = [2, 3, 6, 7];
  // At once, since each waits for the shard as long as it may.
  const [document, topic, overview, agendaDocument, agenda, peek] = (await Promise.all(
    ['stats jobs --json', 'stats jobs', 'stats', 'agenda jobs --json', 'agenda', 'peek jobs'].map(run),
  )) as [Outcome, Outcome, Outcome, Outcome, Outcome, Outcome];
  expect(document).toMatchObject({ code: 3, stderr: '' });
  const stats = JSON.parse(document.stdout) as { scheduled: number; partitions: { scheduled: number }[] };
  expect(stats).toMatchObject({ unreachable: gone, partitions: [0, 1, 4, 5].map((partition) => ({ partition })) });
  expect(stats.scheduled).toBeGreaterThan(0);
  expect(topic.stdout).toMatch(/^partitions +4, .*\nunreachable +2 3 6 7, not counted$/m);
  expect(overview).toMatchObject({ code: 3, stderr: '' });
  expect(overview.stdout).toMatch(/^jobs .* 4 of 8 partitions do not answer and are not counted$/m);

  expect(agendaDocument.code).toBe(3);
  expect(JSON.parse(agendaDocument.stdout)).toMatchObject({
    scheduled: stats.scheduled,
    unreachable: [{ topic: 'jobs', partitions: gone }],
  });
  expect(agenda.stdout).toMatch(/^Not counted, .* partitions 2 3 6 7 of jobs\.$/m);
  expect(peek).toMatchObject({ code: 3, stdout: '' });
});

async function shardWith(cluster: PrivateCluster, key: string): Promise<PrivateRedis> {
  for (const server of cluster.servers) {
    const redis = new Redis(server.url);
    const keys = await redis.keys('*').finally(() => redis.disconnect());
    if (keys.includes(key)) return server;
  }
  throw new Error(`No shard has ${key}.`);
}
