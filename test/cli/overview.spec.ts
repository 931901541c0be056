import { expect, it, onTestFinished } from 'vitest';
import { Redis } from 'ioredis';
import { TOPIC, text, useCliBed } from '../support/cli/cli-bed.js';
import { startRedis } from '../support/servers/redis-server.js';

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
  expect(stdout).toMatch(/^broken +- +- +- +- +- +- +- +Another program has damaged/m);
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

it('nothing under the prefix is a no, which names the prefixes and databases that were probably meant', async () => {
  const said = text(/^no topics: Nothing is stored under the prefix 'nobody' in database 0 .*; there is 'cli-.*\n/m);
  for (const command of ['stats', 'topics', 'top --count 1', 'fleet', 'agenda', 'audit', 'schedules list']) {
    expect(await bed.run(...command.split(' '), '--prefix', 'nobody')).toMatchObject({ code: 1, stderr: said });
  }
  expect(await bed.run('topics', '--json', '--prefix', 'nobody')).toMatchObject({ code: 1, stdout: '{"topics":[]}\n' });
  const doctor = await bed.run('doctor', '--quiet', '--prefix', 'nobody');
  expect(doctor).toMatchObject({ code: 1, stdout: text(/^error +prefix: Nothing .*; there is 'cli-/m) });
  const { stderr } = await bed.run('stats', '--redis', `${bed.redisUrl}/7`);
  expect(stderr).toMatch(/^no topics: Nothing .* in Redis at .* \(database 7\); there are keys in database 0/);
});

it('says what is held and what is tried again, and why Redis cannot be reached', async () => {
  await bed.admin.hold(TOPIC, '30m');
  expect((await bed.run('stats')).stdout).toMatch(/^order\.timeout .* held for (30m|29m \d+s)$/m);
  expect((await bed.run('stats', TOPIC)).stdout).toMatch(/^held +until .*\n(.*\n)+retrying +0$/m);
  const away = await bed.run('doctor', '--redis', 'redis://127.0.0.1:1');
  expect(away).toMatchObject({ code: 3, stdout: text(/^error +connection: .*ECONNREFUSED/) });
});

it('stats and the doctor end alike if the password is wrong', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  await redis.ask((client) => client.config('SET', 'requirepass', 'right'));
  const wrong = ['--redis', redis.url.replace('//', '//:wrong@')];
  expect(await bed.run('stats', ...wrong)).toMatchObject({
    code: 5,
    stderr: text(/refused the user name or password/),
  });
  expect(await bed.run('doctor', ...wrong)).toMatchObject({ code: 5, stdout: text(/refused the user name or passw/) });
});
