import type { BackgroundError, BackgroundErrorSource } from 'nestjs-delay-queue';
import { BrokerUnavailableError } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { startRedis } from '../support/redis-server.js';
import { Bed, useBed } from './support/bed.js';
import { Jobs } from './support/jobs.js';
import { Gate, eventually } from './support/waiting.js';

const bed = useBed();

async function start(deadLetter = {}) {
  const app = await bed.start({
    providers: [Jobs],
    options: { defaults: { partitions: 1, deadLetter }, consumer: { lease: 1000, maxIdleWait: 100 } },
  });
  const { producer, events } = app;
  return { app, producer, events, jobs: app.get(Jobs), partition: bed.partition('jobs') };
}

function from(source: BackgroundErrorSource) {
  return (error: BackgroundError): boolean => error.source === source;
}

const WRONG_TYPE = { topic: 'jobs', partition: 0, error: expect.any(BrokerUnavailableError) as Error };

describe('background errors', () => {
  it('do not come where nothing fails', async () => {
    const { app, producer, events } = await start();
    await producer.publish('jobs', 1);
    await events.acked.first();
    await app.close();
    expect(events.errors.past).toEqual([]);
  });

  it('tell of claims that fail', async () => {
    const { producer, events, partition } = await start();
    await producer.publish('jobs', 1, { delay: 200 });
    await bed.redis.rename(partition.key('meta'), partition.key('hidden'));
    await bed.redis.set(partition.key('meta'), 'damaged');
    expect(await events.errors.first(from('claim'))).toEqual({ source: 'claim', ...WRONG_TYPE });
    await bed.redis.rename(partition.key('hidden'), partition.key('meta'));
    await events.acked.first();
  });

  it('tell of leases that are not renewed, and of outcomes that are not confirmed', async () => {
    const { producer, events, jobs, partition } = await start();
    const gate = new Gate();
    jobs.respond = async () => gate.opened;
    await producer.publish('jobs', 1, { id: 'a' });
    await jobs.called();
    await bed.redis.rename(partition.key('inflight'), partition.key('hidden'));
    await bed.redis.set(partition.key('inflight'), 'damaged');
    expect(await events.errors.first(from('extend'))).toEqual({ source: 'extend', ...WRONG_TYPE });
    gate.open();
    expect(await events.errors.first(from('settle'))).toEqual({ source: 'settle', ...WRONG_TYPE });
    await bed.redis.rename(partition.key('hidden'), partition.key('inflight'));
    await events.acked.first();
  });

  it('tell of heartbeats that fail', async () => {
    const { events } = await start();
    const key = `{${bed.prefix}:jobs}:holdings`;
    await bed.redis.rename(key, `${key}:hidden`);
    await bed.redis.set(key, 'damaged');
    expect(await events.errors.first(from('membership'))).toEqual({
      source: 'membership',
      topic: 'jobs',
      error: expect.any(BrokerUnavailableError),
    });
    await bed.redis.rename(`${key}:hidden`, key);
  });

  it('tell of dead letters that are not trimmed', async () => {
    await bed.redis.set(bed.partition('jobs').key('dead'), 'damaged');
    const { events } = await start({ maxCount: 0 });
    expect(await events.errors.first(from('trim'))).toEqual({ source: 'trim', ...WRONG_TYPE });
  });

  it('tell of each attempt to connect that fails, though the log warns once', async () => {
    const server = await startRedis(['--appendonly', 'yes']);
    const own = new Bed(server.url);
    try {
      await own.open();
      const { events, logs } = await own.start({ providers: [Jobs] });
      await server.kill();
      await events.errors.take(6, from('connection'));
      await server.start();
      await eventually(() => expect(logs.infos.join('\n')).toContain('is back'));
      const refused = events.errors.past.filter(({ error }) => String(error).includes('ECONNREFUSED'));
      expect(refused.length).toBeGreaterThan(1);
      expect(logs.warnings.filter((line) => line.includes('ECONNREFUSED'))).toHaveLength(1);
      await own.close();
    } finally {
      own.redis.disconnect();
      await server.stop();
    }
  });
});
