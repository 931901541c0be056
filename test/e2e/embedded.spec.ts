import type { Redis } from 'ioredis';
import { ConfigurationError, DELAY_QUEUE_REDIS, DelayQueueAdmin, createDelayQueueAdmin } from 'nestjs-delay-queue';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { Jobs } from '../support/app/jobs.js';
import { runInProcess } from '../support/cli/run-in-process.js';
import { eventually } from '../support/waiting.js';

const bed = useBed();

const WARNING =
  /redis: 'embedded:' keeps messages in the memory of this process: they are gone when it ends, and no other/;

async function start(redis = 'embedded:') {
  const app = await bed.start({ providers: [Jobs], options: { redis } });
  return { app, jobs: app.get(Jobs), producer: app.producer, admin: app.get(DelayQueueAdmin) };
}

afterEach(() => vi.unstubAllEnvs());

describe("redis: 'embedded:'", () => {
  it('handles messages without a Redis, retries them, and says once that nothing outlives the process', async () => {
    const { app, jobs, producer } = await start();
    jobs.respond = (_, { attempt }) => {
      if (attempt === 1) throw new Error('not yet');
    };
    await producer.publish('jobs', { n: 1 }, { delay: 20, backoff: { type: 'fixed', delay: 10 } });

    await jobs.called(2);
    expect(app.logs.warnings).toEqual([expect.stringMatching(WARNING)]);
    expect(await bed.redis.keys(`*${bed.prefix}*`)).toEqual([]);
  });

  it('keeps messages while the process lives, for all of its connections with that prefix', async () => {
    const first = await start();
    await first.producer.publish('jobs', 'later', { id: 'a', delay: '1h' });
    await first.app.close();
    const [second, stranger] = [
      await start(),
      await createDelayQueueAdmin({ redis: 'embedded:', prefix: `${bed.prefix}-other` }),
    ];
    const admin = await createDelayQueueAdmin({ redis: 'embedded:', prefix: bed.prefix });

    expect(await second.admin.get('jobs', 'a')).toMatchObject({ state: 'scheduled', payload: 'later' });
    expect(await stranger.topics()).toEqual([]);
    await admin.runNow('jobs', 'a');
    await second.jobs.called();
    for (const connected of [admin, stranger]) await connected.close();
  });

  it('shares messages among the processes that it seems to have', async () => {
    const [one, two] = [await start(), await start()];
    await eventually(async () => {
      const { partitions } = await one.admin.stats('jobs');
      expect(new Set(partitions.map(({ owner }) => owner)).size).toBe(2);
    });
    await one.producer.publishMany(
      'jobs',
      Array.from({ length: 40 }, (_, payload) => ({ payload })),
    );

    await eventually(() => {
      expect([one.jobs.calls.length > 0, two.jobs.calls.length > 0]).toEqual([true, true]);
      expect(one.jobs.calls.length + two.jobs.calls.length).toBe(40);
    });
  });

  it('is within reach of the command line in its process', async () => {
    const { producer } = await start();
    await producer.publish('jobs', 1, { delay: '1h' });
    const env = { DELAY_QUEUE_REDIS: 'embedded:', DELAY_QUEUE_PREFIX: bed.prefix };

    const { code, stdout } = await runInProcess(['topics', '--json'], { env });
    expect([code, stdout]).toEqual([0, expect.stringContaining('jobs')]);
  });

  it('has no client to inject', async () => {
    const { app } = await start();
    const redis = app.nest.get<Redis>(DELAY_QUEUE_REDIS);

    expect(() => redis.get('a')).toThrow("DELAY_QUEUE_REDIS has no 'get': with redis: 'embedded:' there is no Redis.");
  });

  it('is refused in production, unless the loss is what is wanted', async () => {
    vi.stubEnv('NODE_ENV', 'production');
    const error = await bed.failingBoot({ options: { redis: 'embedded:' } });
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error.message).toMatch(/is refused, since NODE_ENV is 'production'.*'embedded:\?allowProduction'/);
    await expect(createDelayQueueAdmin({ redis: 'embedded:' })).rejects.toThrow(ConfigurationError);

    const { app, jobs, producer } = await start('embedded:?allowProduction');
    await producer.publish('jobs', 1);
    await jobs.called();
    expect(app.logs.warnings).toEqual([expect.stringMatching(WARNING)]);
  });

  it.each(['embedded', 'embedded://', 'embedded:?allowproduction', 'Embedded:', 'embedded:dq'])(
    'is not taken for %j',
    async (redis) => {
      await expect(bed.failingBoot({ options: { redis } })).resolves.toMatchObject({
        message: expect.stringContaining("'embedded:' takes nothing but '?allowProduction' behind it") as string,
      });
    },
  );
});
