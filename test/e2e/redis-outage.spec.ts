import { randomUUID } from 'node:crypto';
import {
  BrokerUnavailableError,
  type DelayQueueProducer,
  DuplicateMessageError,
  type PublishOptions,
} from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { type Bed, onOwnRedis } from '../support/app/bed.js';
import { Jobs } from '../support/app/jobs.js';
import { report } from '../support/readings/statistics.js';
import type { PrivateRedis } from '../support/servers/redis-server.js';
import { Gate, eventually } from '../support/waiting.js';

/** With the default `maxIdleWait`; milliseconds. */
const HEARTBEAT = 5000;

/** How soon everything has to work again once Redis answers: about a second, and in any case without the next heartbeat. */
const RECOVERY = 0.9 * HEARTBEAT;

/** What a busy host may add to the time that a close may take, in milliseconds. */
const BUSY_HOST = 5000;

const ON_DISK = ['--appendonly', 'yes', '--appendfsync', 'always'];

/** Runs a test on a server that it may stop, with one application that it does not restart. */
async function onMortalRedis(
  { durable = true, ...timeouts }: { durable?: boolean; publishTimeout?: number; shutdownTimeout?: number },
  test: (setting: Awaited<ReturnType<typeof settle>>) => Promise<void>,
): Promise<void> {
  await onOwnRedis(async (own, server) => test(await settle(server, own, timeouts)), durable ? ON_DISK : []);
}

async function settle(
  server: PrivateRedis,
  bed: Bed,
  { publishTimeout = 500, shutdownTimeout = 1000 }: { publishTimeout?: number; shutdownTimeout?: number },
) {
  const pid = Number(/^process_id:(\d+)/m.exec(await bed.redis.info('server'))?.[1]);
  const app = await bed.start({ providers: [Jobs], options: { publishTimeout, consumer: { shutdownTimeout } } });
  const { producer, events, logs } = app;
  // The first publish takes longer; some of these tests leave it little time.
  await eventually(async () => producer.publish('jobs', 'before', { id: 'before', onDuplicate: 'ignore' }));
  await events.acked.first();
  return { server, pid, bed, app, producer, events, logs, jobs: app.get(Jobs) };
}

/**
 * Publishes until it is confirmed, each try under an id of its own: one that was not confirmed may have been stored, handled
 * and forgotten before the next, which under the same id would then be a new message.
 */
async function publishAtLast(
  producer: DelayQueueProducer,
  options: PublishOptions = {},
): Promise<{ id: string; tries: readonly string[] }> {
  const tries: string[] = [];
  const { id } = await eventually(async () => {
    const next = randomUUID();
    tries.push(next);
    return producer.publish('jobs', 'after', { ...options, id: next });
  });
  return { id, tries };
}

/** Resolves once a message is being handled. What was published before may have been stored twice, so calls are not counted. */
async function called(jobs: Jobs, id: string): Promise<void> {
  await eventually(() => expect(jobs.callsOf(id)).toHaveLength(1));
}

const AWAY: { how: string; leave: (redis: { server: PrivateRedis; pid: number }) => unknown }[] = [
  { how: 'killed', leave: async ({ server }) => server.kill() },
  { how: 'frozen', leave: ({ pid }) => process.kill(pid, 'SIGSTOP') },
];

describe('while Redis is away', () => {
  it.each(AWAY)('publish, publishMany, reschedule and cancel reject within publishTimeout: $how', async ({ leave }) => {
    await onMortalRedis({ publishTimeout: 250 }, async ({ server, pid, producer }) => {
      await leave({ server, pid });
      for (const operation of [
        async () => producer.publish('jobs', 1, { id: 'a' }),
        async () => producer.reschedule('jobs', 'a', { delay: '1h' }),
        async () => producer.reschedule('jobs', { id: 'a', key: 'k' }, { deliverAt: 0 }),
        async () => producer.cancel('jobs', 'a'),
        async () => producer.publish('a-topic-that-was-not-used-before', 1),
      ]) {
        const startedAt = performance.now();
        const error: unknown = await operation().catch((reason: unknown) => reason);
        // Half of the default: it is this timeout that counts.
        expect(performance.now() - startedAt).toBeLessThan(2500);
        expect(error).toBeInstanceOf(BrokerUnavailableError);
        expect(error).toMatchObject({ code: 'BROKER_UNAVAILABLE' });
        expect((error as Error).message).toMatch(/Redis|250 ms/);
      }
      await expect(producer.publishMany('jobs', [{ payload: 1 }])).rejects.toMatchObject({
        code: 'PUBLISH_MANY',
        cause: expect.any(BrokerUnavailableError),
      });
      await server.kill();
      await server.start();
    });
  });

  it('a publish with an unknown outcome can be repeated under its id, and is delivered once', async () => {
    await onMortalRedis({ publishTimeout: 300 }, async ({ pid, producer, events, jobs }) => {
      process.kill(pid, 'SIGSTOP');
      await expect(producer.publish('jobs', 'first', { id: 'a', delay: '1h' })).rejects.toThrow(/not known.*same id/);
      process.kill(pid, 'SIGCONT');
      // The server had received it and stored it as soon as it could. A busy machine may leave the outcome of a repetition unknown, too.
      await eventually(async () => {
        await expect(producer.publish('jobs', 'second', { id: 'a' })).rejects.toThrow(DuplicateMessageError);
      });
      await eventually(async () => producer.reschedule('jobs', 'a', { delay: 0 }));
      await events.acked.first(({ id }) => id === 'a');
      expect(jobs.callsOf('a').map(({ payload }) => payload)).toEqual(['first']);
    });
  });

  it('a publish with time left waits for Redis to come back, and is delivered once', async () => {
    await onMortalRedis({ publishTimeout: 10_000 }, async ({ server, producer, events, jobs }) => {
      await server.kill();
      const publish = producer.publish('jobs', 'patient', { id: 'a' });
      await server.start();
      expect(await publish).toMatchObject({ id: 'a', duplicate: false });
      await events.acked.first(({ id }) => id === 'a');
      expect(jobs.callsOf('a')).toHaveLength(1);
    });
  });

  it('a reschedule with time left waits for Redis to come back, and is done once', async () => {
    await onMortalRedis({ publishTimeout: 10_000 }, async ({ server, producer, events, jobs }) => {
      const { dueAt } = await producer.publish('jobs', 'moved', { id: 'a', delay: '1h' });
      await server.kill();
      const reschedule = producer.reschedule('jobs', 'a', { delay: 300 });
      await server.start();
      expect(await reschedule).toBe('moved');
      await events.acked.first(({ id }) => id === 'a');
      const [call] = jobs.callsOf('a');
      expect(call?.message.dueAt.getTime()).toBeLessThan(dueAt.getTime());
      expect(jobs.callsOf('a')).toHaveLength(1);
    });
  });

  it('little is logged, however long it takes', async () => {
    await onMortalRedis({ publishTimeout: 250 }, async ({ server, producer, events, logs }) => {
      await server.kill();
      const before = logs.warnings.length + logs.errors.length;
      for (let i = 0; i < 4; i++) {
        await expect(producer.publish('jobs', i)).rejects.toThrow(BrokerUnavailableError);
      }
      // Within a second, one line for each claim, heartbeat and attempt to connect would be far more.
      expect(logs.warnings.length + logs.errors.length - before).toBeLessThan(30);
      await server.start();
      await eventually(async () => producer.publish('jobs', 'after'));
      await events.acked.first(({ id }) => id !== 'before');
    });
  });
});

describe('after Redis has come back on the same port', () => {
  it.each([
    { what: 'with its data', durable: true },
    { what: 'without its data', durable: false },
  ])('publishing and consuming resume without help within about a second: $what', async ({ what, durable }) => {
    await onMortalRedis({ durable, publishTimeout: 300 }, async ({ server, producer, events, jobs }) => {
      await server.kill();
      await expect(producer.publish('jobs', 'lost')).rejects.toThrow(BrokerUnavailableError);
      await server.start();
      const backAt = performance.now();
      const { id, tries } = await publishAtLast(producer);
      const publishedAfter = performance.now() - backAt;
      await events.acked.first((acked) => acked.id === id);
      const ackedAfter = performance.now() - backAt;
      expect(jobs.callsOf(id)).toHaveLength(1);
      for (const unconfirmed of tries) expect(jobs.callsOf(unconfirmed).length).toBeLessThanOrEqual(1);
      expect(publishedAfter).toBeLessThan(RECOVERY);
      expect(ackedAfter).toBeLessThan(RECOVERY);
      report(
        `Redis back ${what}: published after ${publishedAfter.toFixed(0)} ms, handled and acknowledged after ` +
          `${ackedAfter.toFixed(0)} ms`,
      );
      // Messages are on time again.
      const timely = await publishAtLast(producer, { delay: 100 });
      const { lateness } = await events.delivered.first((delivered) => delivered.id === timely.id);
      expect(lateness).toBeLessThan(HEARTBEAT / 2);
    });
  });

  it('messages that fell due meanwhile are delivered, once each', async () => {
    await onMortalRedis({}, async ({ server, bed, producer, events, jobs }) => {
      const deliverAt = (await bed.time()) + 300;
      const ids = Array.from({ length: 40 }, (_, i) => `m${i}`);
      await producer.publishMany(
        'jobs',
        ids.map((id) => ({ payload: id, options: { id, deliverAt } })),
      );
      await server.kill();
      await eventually(() => expect(Date.now()).toBeGreaterThan(deliverAt + 50));
      await server.start();
      const backAt = performance.now();
      await events.acked.take(40, ({ id }) => id !== 'before');
      expect(performance.now() - backAt).toBeLessThan(RECOVERY);
      expect(jobs.ids.filter((id) => id !== 'before').toSorted()).toEqual(ids.toSorted());
    });
  });

  it('messages that were handled meanwhile are acknowledged, and not delivered again', async () => {
    await onMortalRedis({}, async ({ server, bed, producer, events, jobs }) => {
      const gate = new Gate();
      jobs.respond = async () => gate.opened;
      const { partition } = await producer.publish('jobs', 'long', { id: 'a' });
      await called(jobs, 'a');
      await server.kill();
      gate.open();
      await eventually(() => expect(jobs.running).toBe(0));
      await server.start();
      const backAt = performance.now();
      await events.acked.first(({ id }) => id === 'a');
      expect(performance.now() - backAt).toBeLessThan(RECOVERY);
      expect(jobs.callsOf('a')).toHaveLength(1);
      expect(events.stale.past).toEqual([]);
      expect(await bed.partition('jobs', partition).envelope('a')).toBeUndefined();
      expect(await bed.partition('jobs', partition).inFlight()).toEqual([]);
    });
  });

  it('a handler that runs during the whole outage keeps its lease, and its signal is not aborted', async () => {
    await onMortalRedis({}, async ({ server, producer, events, jobs }) => {
      const gate = new Gate();
      const aborted: boolean[] = [];
      jobs.respond = async (_payload, { signal }) => {
        await gate.opened;
        aborted.push(signal.aborted);
      };
      await producer.publish('jobs', 'long', { id: 'a' });
      await called(jobs, 'a');
      await server.kill();
      await expect(producer.publish('jobs', 'lost')).rejects.toThrow(BrokerUnavailableError);
      await server.start();
      jobs.respond = () => undefined;
      const after = await publishAtLast(producer);
      await events.acked.first(({ id }) => id === after.id);
      gate.open();
      expect(await events.acked.first(({ id }) => id === 'a')).toMatchObject({ attempt: 1 });
      expect(aborted).toEqual([false]);
      expect(jobs.callsOf('a')).toHaveLength(1);
    });
  });
});

describe('closing an application while Redis is away', () => {
  it.each(AWAY)('takes no longer than shutdownTimeout and 3 s, though a handler runs: $how', async ({ leave }) => {
    await onMortalRedis({ shutdownTimeout: 200 }, async ({ server, pid, app, producer, jobs }) => {
      const gate = new Gate();
      jobs.respond = async () => gate.opened;
      await producer.publish('jobs', 'long', { id: 'a' });
      await called(jobs, 'a');
      await leave({ server, pid });
      const startedAt = performance.now();
      await app.close();
      expect(performance.now() - startedAt).toBeLessThan(200 + 3000 + BUSY_HOST);
      gate.open();
      await eventually(() => expect(jobs.running).toBe(0));
      await server.kill();
      await server.start();
    });
  });
});
