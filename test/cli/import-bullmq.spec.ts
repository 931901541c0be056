import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BullmqBed } from '../support/bullmq/bullmq-bed.js';
import { TOPIC, text, useCliBed } from '../support/cli/cli-bed.js';
import { runInProcess } from '../support/cli/run-in-process.js';

const bed = useCliBed('test');
const { run, json } = bed;

const HOUR = 3_600_000;

let bullmq: BullmqBed;
let redis: Redis;

beforeEach(async () => {
  const { hostname, port } = new URL(bed.redisUrl);
  redis = new Redis(bed.redisUrl);
  bullmq = new BullmqBed({ host: hostname, port: Number(port) }, `bull-${bed.prefix}`);
  await bullmq.queue.waitUntilReady();
  await bullmq.add(1, { delay: HOUR, jobId: 'a' });
  await bullmq.add(2, { delay: HOUR, jobId: 'b' }, 'reminder');
});
afterEach(async () => {
  await bullmq.close(redis);
  redis.disconnect();
});

const command = (topic: string, ...more: readonly string[]): string[] => [
  'import-bullmq',
  bullmq.name,
  topic,
  '--from-prefix',
  bullmq.prefix,
  ...more,
];

describe('delayed jobs are', () => {
  it('counted, and then moved to a topic that is there', async () => {
    await bed.publish([{ payload: {}, options: { id: 'first', delay: '1h' } }]);
    expect(await run(...command(TOPIC, '--dry-run'))).toMatchObject({
      code: 0,
      stdout:
        'counted    2 delayed jobs\n' +
        'to move    2 to order.timeout\n' +
        'left       0\n' +
        'in BullMQ  2 delayed, 0 due, 0 active\n',
    });
    expect(await bullmq.delayed()).toEqual(['a', 'b']);
    expect(await json(...command(TOPIC))).toEqual({
      queue: bullmq.name,
      counted: 2,
      moved: 2,
      topics: { [TOPIC]: 2 },
      left: [],
      remaining: { delayed: 0, waiting: 0, active: 0 },
      dryRun: false,
      aborted: false,
    });
    expect(await bed.admin.get(TOPIC, 'b')).toMatchObject({ payload: { order: 2 }, state: 'scheduled' });
  });

  it('moved to topics by their names, which are made if that is meant', async () => {
    const args = command('order.{name}', '--from', bed.redisUrl);
    expect(await run(...args)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: text(/^error: Topic 'order\.timeout' was never used under the prefix/),
    });
    expect(await run(...args, '--create')).toMatchObject({
      code: 0,
      stdout: text(/^moved +2: 1 to order\.timeout, 1 to order\.reminder$/m),
    });
  });

  it('left where they are, if they have to stay', async () => {
    await bullmq.queue.upsertJobScheduler('yearly', { pattern: '0 0 1 1 *' });
    const { code, stdout } = await run(...command(TOPIC, '--create'));
    expect(code).toBe(1);
    expect(stdout).toMatch(/^moved +2 to order\.timeout\nleft +1\nin BullMQ +1 delayed, 0 due, 0 active\n/m);
    expect(stdout).toMatch(/^LEFT +SUCH AS +WHY\n +1 +repeat:yearly:\d+ +made by a job scheduler;/m);
  });
});

describe('nothing is moved', () => {
  it.each([
    ['a queue that is not there', ['--from-prefix', 'nope'], 1, /BullMQ has no queue '.*' under the prefix 'nope' in/],
    ['a Redis that is none', ['--from', 'localhost'], 2, /redis must be a URL/],
    ['a Redis that is in another process', ['--from', 'embedded:'], 2, /in the memory of the process/],
    ['a Redis that is away', ['--from', 'redis://127.0.0.1:1'], 3, /127\.0\.0\.1:1/],
  ])('from %s', async (_, more, code, said) => {
    const outcome = await run(...command(TOPIC, '--create', '--redis-timeout', '1s', ...more));
    expect(outcome).toMatchObject({ code, stdout: '', stderr: text(said) });
  });

  it('from a queue of an unknown version', async () => {
    await redis.hset(bullmq.key('meta'), 'version', 'bullmq:99.0.0');
    const outcome = await run(...command(TOPIC, '--create'));
    expect(outcome).toMatchObject({ code: 2, stderr: text(/is of bullmq:99\.0\.0, whose keys are not known here/) });
  });

  it('while jobs are on their way to another topic', async () => {
    const [delayed, taken] = [bullmq.key('delayed'), bullmq.key('moving-to-delay-queue')];
    const note = `taken ${await redis.zscore(delayed, 'a')} before`;
    await redis.hset(bullmq.key('a'), 'movingToDelayQueue', 'before');
    await redis.hset(taken, '', "topic 'x' of y", 'a', note);
    await redis.zrem(delayed, 'a');
    expect(await run(...command(TOPIC, '--dry-run'))).toMatchObject({ code: 2, stderr: text(/to topic 'x' of y/) });
    expect(await run(...command(TOPIC, '--create'))).toMatchObject({ code: 2, stderr: text(/to topic 'x' of y/) });

    // Until they are given back.
    expect(await run(...command(TOPIC, '--create', '--give-back'))).toMatchObject({
      code: 4,
      stderr: text(/1 job back/),
    });
    expect(await run(...command(TOPIC, '--give-back', '--dry-run'))).toMatchObject({ code: 2 });
    expect(await json(...command(TOPIC, '--create', '--give-back', '--yes'))).toMatchObject({ moved: 2, left: [] });
  });

  it('while jobs are on their way to another database', async () => {
    const { host } = new URL(bed.redisUrl);
    const [taken, place] = [bullmq.key('moving-to-delay-queue'), `under the prefix '${bed.prefix}' of ${host}`];
    await redis.hset(taken, '', `topic '${TOPIC}' ${place}`, 'x', 'taken 1 before');
    const args = command(TOPIC, '--create', '--from', bed.redisUrl);
    for (const more of [['--dry-run'], []]) {
      const outcome = await run(...args, '--redis', `${bed.redisUrl}/1`, ...more);
      expect(outcome).toMatchObject({ code: 2, stderr: text(/has taken jobs of this queue to topic/) });
    }
    expect(await bullmq.delayed()).toEqual(['a', 'b']);
    expect(await json(...args)).toMatchObject({ moved: 2, left: [] });
  });

  it('after an interruption', async () => {
    const running = runInProcess(command(TOPIC, '--create'), { env: bed.env });
    while (process.listenerCount('SIGTERM') === 0) await new Promise(setImmediate);
    process.emit('SIGTERM');
    expect(await running).toMatchObject({
      code: 130,
      stdout: '',
      stderr: text(/It was interrupted\. Nothing was changed\./),
    });
  });
});
