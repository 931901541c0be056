import { ConfigurationError, DelayQueueAdmin, DelayQueueReceiver, type TopicOptions } from 'nestjs-delay-queue';
import { expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { Jobs } from '../support/app/jobs.js';

const SETTINGS: TopicOptions = {
  partitions: 1,
  rateLimit: { max: 1000, per: '1s' },
  maxInFlight: { topic: 100 },
  attempts: 2,
  backoff: { type: 'fixed', delay: 20 },
  expireAfter: '10m',
  deadLetter: { maxCount: 50 },
  finished: { maxAge: '1h' },
};

const bed = useBed();

it('a process that was told nothing changes no setting of a topic, and goes by all of them', async () => {
  const handling = await bed.start({ providers: [Jobs], options: { topics: { jobs: SETTINGS } } });
  const config = async (): Promise<unknown[]> => [
    await bed.redis.hgetall(`{${bed.prefix}:jobs}:config`),
    await bed.redis.hget(`{${bed.prefix}:fleet}:topics`, 'jobs'),
  ];
  const before = await config();
  expect(before).toMatchObject([
    { partitions: '1', limits: expect.any(String), handling: expect.any(String) },
    expect.any(String),
  ]);
  await handling.close();

  const app = await bed.start();
  const [receiver, admin] = [app.get(DelayQueueReceiver), app.get(DelayQueueAdmin)];
  await app.producer.publish('jobs', 1, { id: 'failing' });
  const [first] = await receiver.receive('jobs', { wait: '1m', lease: '1m' });
  expect(first).toMatchObject({ maxAttempts: 2 });
  expect(await first?.extend('2m')).toBe('extended');
  expect(await first?.retry('no')).toBe('settled');
  expect(await first?.ack()).toBe('stale');
  expect(await receiver.settle(made(first?.receipt ?? ''), 'ack')).toBe('stale');
  // By default it would come after a second.
  const [second] = await receiver.receive('jobs', { wait: 500 });
  expect(await second?.retry('no')).toBe('settled');
  expect(await admin.explain('jobs', 'failing')).toMatchObject({ cause: 'dead' });

  await app.producer.publish('jobs', 2, { id: 'done' });
  const [done] = await receiver.receive('jobs', { wait: '1m' });
  expect(await done?.ack()).toBe('settled');
  expect(await admin.get('jobs', 'done')).toMatchObject({ state: 'finished', outcome: 'acked' });
  expect(await bed.redis.hget(bed.partition('jobs').key('meta'), 'finished')).toBe('3600000 -1');
  expect(await config()).toEqual(before);
});

it('a process that handles a topic says all of it, and one that receives what it was told for the topic', async () => {
  const receive = async (topics: Record<string, TopicOptions>): Promise<string | null> => {
    const app = await bed.start({ options: { topics, defaults: { attempts: 9 } } });
    await app.get(DelayQueueReceiver).receive('jobs');
    await app.close();
    return bed.redis.hget(`{${bed.prefix}:jobs}:config`, 'handling');
  };
  await (
    await bed.start({ providers: [Jobs], options: { topics: { jobs: { attempts: 2, expireAfter: '1m' } } } })
  ).close();
  expect(JSON.parse((await receive({})) ?? '')).toEqual({ attempts: 2, expireAfter: 60_000 });
  expect(JSON.parse((await receive({ jobs: { attempts: 3 } })) ?? '')).toEqual({ attempts: 3, expireAfter: 60_000 });
  expect(JSON.parse((await receive({ jobs: { expireAfter: false } })) ?? '')).toEqual({ attempts: 3 });
  await (await bed.start({ providers: [Jobs] })).close();
  expect(await bed.redis.hget(`{${bed.prefix}:jobs}:config`, 'handling')).toBe('');
});

it('what is handled with a serializer cannot be received without it, and keeps its partitions', async () => {
  const serializer = { serialize: (value: unknown) => ({ value }), deserialize: (json: unknown) => json };
  const options = { topics: { jobs: { serializer } } };
  const handling = await bed.start({ providers: [Jobs], options });
  const receiver = (await bed.start()).get(DelayQueueReceiver);
  await expect(receiver.receive('jobs')).rejects.toThrow(ConfigurationError);
  await expect(receiver.receive('jobs')).rejects.toThrow("this process has none for topic 'jobs'");
  expect(await handling.get(DelayQueueAdmin).stats('jobs')).toMatchObject({ dead: 0 });
});

/** Of a delivery that never was. */
function made(receipt: string): string {
  const fields = JSON.parse(Buffer.from(receipt, 'base64url').toString()) as unknown[];
  fields[4] = 'made.up';
  return Buffer.from(JSON.stringify(fields)).toString('base64url');
}
