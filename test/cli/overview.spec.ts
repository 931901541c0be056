import { expect, it } from 'vitest';
import { Redis } from 'ioredis';
import { TOPIC, useCliBed } from '../support/cli/cli-bed.js';

const bed = useCliBed('test', async (filled) => {
  await filled.publish([{ payload: {}, options: { delay: '1h' } }]);
});

/** Damages what is stored of a topic, as another program may. */
async function damage(topic: string): Promise<void> {
  const redis = new Redis(bed.redisUrl);
  await redis.hset(`{${bed.prefix}:fleet}:topics`, topic, 'nonsense');
  await redis.hset(`{${bed.prefix}:${topic}}:config`, 'partitions', 'many', 'protocol', '2');
  redis.disconnect();
}

it('the overview shows the others if one topic cannot be counted', async () => {
  await damage('broken');
  const { code, stdout } = await bed.run('stats');
  expect(code).toBe(5);
  expect(stdout).toMatch(/^broken +- +- +- +- +- +- +Another program has damaged/m);
  expect(stdout).toMatch(/^order\.timeout +1 +0 /m);

  const json = await bed.run('stats', '--json');
  expect(json).toMatchObject({ code: 5, stderr: '' });
  expect(JSON.parse(json.stdout)).toMatchObject({
    topics: [
      { topic: 'broken', error: { code: 'BROKER_UNAVAILABLE', message: expect.stringContaining('damaged') as string } },
      { topic: TOPIC, scheduled: 1 },
    ],
  });
  const top = await bed.run('top', '--count', '1', '--json');
  expect(JSON.parse(top.stdout)).toMatchObject({ topics: [{ topic: 'broken', error: {} }, { topic: TOPIC }] });
});

it('a single topic that cannot be counted is an error', async () => {
  await damage(TOPIC);
  const { code, stdout, stderr } = await bed.run('stats');
  expect([code, stdout]).toEqual([5, '']);
  expect(stderr).toMatch(/^error: Another program has damaged/);
});

it('no topic at all is no error', async () => {
  expect(await bed.run('stats', '--prefix', 'nobody')).toMatchObject({ code: 0, stderr: '' });
  expect(await bed.run('topics', '--json', '--prefix', 'nobody')).toMatchObject({
    code: 0,
    stdout: '{"topics":[]}\n',
  });
});
