import type { BackgroundError, BackgroundErrorSource } from 'nestjs-delay-queue';
import { BrokerUnavailableError, UnrecoverableError } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { type Bed, onOwnRedis, useBed } from '../support/app/bed.js';
import { Jobs } from '../support/app/jobs.js';
import { Gate, eventually } from '../support/waiting.js';

const bed = useBed();

async function start(deadLetter = {}, own = bed) {
  const app = await own.start({
    providers: [Jobs],
    options: { defaults: { partitions: 1, deadLetter }, consumer: { lease: 1000, maxIdleWait: 100 } },
  });
  const { producer, events } = app;
  return { app, producer, events, jobs: app.get(Jobs), partition: own.partition('jobs') };
}

/** Makes Redis refuse writes from now on, or accept them again. */
async function refuseWrites(own: Bed, refuses = true): Promise<void> {
  await own.redis.config('SET', 'min-replicas-to-write', refuses ? 1 : 0);
}

function from(source: BackgroundErrorSource) {
  return (error: BackgroundError): boolean => error.source === source;
}

const REFUSED = { topic: 'jobs', partition: 0, error: expect.any(BrokerUnavailableError) as Error };

describe('background errors', () => {
  it('are not emitted if nothing fails', async () => {
    const { app, producer, events } = await start();
    await producer.publish('jobs', 1);
    await events.acked.first();
    await app.close();
    expect(events.errors.past).toEqual([]);
  });

  it('report failed claims', async () => {
    await onOwnRedis(async (own) => {
      const { producer, events } = await start({}, own);
      await producer.publish('jobs', 1, { delay: 200 });
      await refuseWrites(own);
      expect(await events.errors.first(from('claim'))).toEqual({ source: 'claim', ...REFUSED });
      await refuseWrites(own, false);
      await events.acked.first();
    });
  });

  it('report leases that are not renewed and outcomes that are not confirmed', async () => {
    await onOwnRedis(async (own) => {
      const { producer, events, jobs } = await start({}, own);
      const gate = new Gate();
      jobs.respond = async () => gate.opened;
      await producer.publish('jobs', 1, { id: 'a' });
      await jobs.called();
      await refuseWrites(own);
      expect(await events.errors.first(from('extend'))).toEqual({ source: 'extend', ...REFUSED });
      gate.open();
      expect(await events.errors.first(from('settle'))).toEqual({ source: 'settle', ...REFUSED });
      await refuseWrites(own, false);
      await events.acked.first();
    });
  });

  it('report failed heartbeats', async () => {
    await onOwnRedis(async (own) => {
      const { events } = await start({}, own);
      await refuseWrites(own);
      // Whoever has not been heard for long looks after its partitions as well, which is told with their topic.
      expect(await events.errors.first((error) => from('membership')(error) && !('topic' in error))).toEqual({
        source: 'membership',
        error: expect.any(BrokerUnavailableError),
      });
      await refuseWrites(own, false);
    });
  });

  it('report dead letters that are not trimmed', async () => {
    await onOwnRedis(async (own) => {
      const { producer, events, jobs } = await start({ maxAge: 300 }, own);
      jobs.respond = () => {
        throw new UnrecoverableError('no');
      };
      await producer.publish('jobs', 1);
      await events.dead.first();
      await refuseWrites(own);
      expect(await events.errors.first(from('trim'))).toEqual({ source: 'trim', ...REFUSED });
      await refuseWrites(own, false);
    });
  });

  it('report keys that another program has overwritten', async () => {
    const { producer, events, partition } = await start();
    await bed.redis.set(partition.key('errors'), 'damaged');
    await producer.publish('jobs', 1);
    await events.acked.first();
    expect(await events.errors.first(from('connection'))).toMatchObject({
      error: { message: expect.stringContaining(`${partition.key('errors')}:set-aside`) as string, refused: true },
    });
  });

  it('tell of each attempt to connect that fails, though the log warns once', async () => {
    await onOwnRedis(
      async (own, server) => {
        const { events, logs } = await own.start({ providers: [Jobs] });
        await server.kill();
        await events.errors.take(6, from('connection'));
        await server.start();
        await eventually(() => expect(logs.infos.join('\n')).toContain('is back'));
        const refused = events.errors.past.filter(({ error }) => String(error).includes('ECONNREFUSED'));
        expect(refused.length).toBeGreaterThan(1);
        // What else waits meanwhile may say so, too. How the loss showed first depends on when it was noticed.
        expect(logs.warnings.filter((line) => /^Redis at .* is lost: /.test(line))).toHaveLength(1);
      },
      ['--appendonly', 'yes'],
    );
  });
});
