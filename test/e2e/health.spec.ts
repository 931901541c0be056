import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { DelayQueueHealth, DelayQueueModule, InjectDelayQueueHealth, InvalidArgumentError } from 'nestjs-delay-queue';
import { describe, expect, it, vi } from 'vitest';
import { brokerOf } from '../support/internals.js';
import { type RunningApp, onOwnRedis, useBed } from '../support/app/bed.js';
import { Jobs } from '../support/app/jobs.js';
import { Gate, eventually } from '../support/waiting.js';

const FOUR_PARTITIONS = { defaults: { partitions: 4 } };
const ALL_FOUR = [0, 1, 2, 3];

/** What a busy host may add to a timeout, in milliseconds. A check that waited for its answer would not end at all. */
const BUSY_HOST = 5000;

const bed = useBed();

function healthOf(app: RunningApp): DelayQueueHealth {
  return app.get(DelayQueueHealth);
}

/** What hangs. */
async function never(): Promise<never> {
  return new Promise(() => {});
}

describe('DelayQueueHealth.check() if all is well', () => {
  it('is up, and describes the process', async () => {
    const app = await bed.start({ providers: [Jobs], options: FOUR_PARTITIONS });
    const report = await healthOf(app).check();

    expect(report).toEqual({
      status: 'up',
      problems: [],
      connection: { status: 'up', roundTrip: expect.any(Number), signals: 'up', error: undefined },
      session: { status: 'up', renewedAt: expect.any(Date), stalled: false },
      clockOffset: expect.any(Number),
      topics: [
        {
          topic: 'jobs',
          owned: ALL_FOUR,
          unowned: [],
          unreachable: [],
          paused: false,
          stopped: false,
          overdue: undefined,
          stalled: false,
          saturated: false,
          limited: false,
          starved: false,
        },
      ],
      unhandled: [],
      abandoned: { count: 0, oldest: [] },
    });
    expect(report.connection.roundTrip).toBeGreaterThan(0);
    expect(Math.abs(report.clockOffset)).toBeLessThan(1000);
  });

  it('is up if another process owns some of the partitions', async () => {
    const first = await bed.start({ providers: [Jobs], options: FOUR_PARTITIONS });
    const second = await bed.start({ providers: [Jobs], options: FOUR_PARTITIONS });
    await eventually(async () => {
      const reports = await Promise.all([first, second].map(async (app) => healthOf(app).check()));
      expect(reports.map(({ status }) => status)).toEqual(['up', 'up']);
      expect(reports.map(({ topics }) => topics[0]?.owned.length)).toEqual([2, 2]);
      expect(reports.flatMap(({ topics }) => topics[0]?.owned ?? []).toSorted((a, b) => a - b)).toEqual(ALL_FOUR);
    });
  });

  it('has the topics that the options of a publishing process name', async () => {
    await bed.start({ providers: [Jobs], options: FOUR_PARTITIONS });
    const publisher = await bed.start({ options: { consumer: false, topics: { jobs: {} } } });
    const { status, session, topics } = await healthOf(publisher).check();

    expect(status).toBe('up');
    expect(session).toBeUndefined();
    expect(topics).toMatchObject([{ topic: 'jobs', owned: [], unowned: [], stalled: false }]);
  });

  it('can be injected by the name of its connection', async () => {
    @Injectable()
    class Probe {
      constructor(@InjectDelayQueueHealth('billing') readonly health: DelayQueueHealth) {}
    }
    const imports = [DelayQueueModule.forRoot(bed.options({ name: 'billing', topics: { invoices: {} } }))];
    const app = await bed.compileWith({ imports, providers: [Probe] }, 'billing');
    await app.nest.init();

    expect((await app.get(Probe).health.check()).topics).toMatchObject([{ topic: 'invoices' }]);
  });
});

describe('DelayQueueHealth.check() if something is wrong', () => {
  it('is degraded by partitions without an owner', async () => {
    const app = await bed.start({ options: { consumer: false, topics: { jobs: { partitions: 4 } } } });

    expect(await healthOf(app).check()).toMatchObject({
      status: 'degraded',
      problems: ["Topic 'jobs': no process owns partitions 0, 1, 2, 3"],
      connection: { status: 'up' },
      topics: [{ topic: 'jobs', unowned: ALL_FOUR }],
    });
  });

  it('is degraded by signals that do not arrive', async () => {
    const app = await bed.start({ providers: [Jobs] });
    vi.spyOn(brokerOf(app.nest).link, 'listen').mockImplementation(never);

    expect(await healthOf(app).check({ timeout: 200 })).toMatchObject({
      status: 'degraded',
      problems: ['Signals do not come through'],
      connection: { status: 'up', signals: 'down' },
    });
  });

  it('is degraded by partitions that cannot be reached', async () => {
    const app = await bed.start({ providers: [Jobs], options: FOUR_PARTITIONS });
    const broker = brokerOf(app.nest);
    const stats = broker.messages.stats.bind(broker.messages);
    vi.spyOn(broker.messages, 'stats').mockImplementation(async (partition) =>
      partition.index === 2 ? never() : stats(partition),
    );

    expect(await healthOf(app).check({ timeout: 200 })).toMatchObject({
      status: 'degraded',
      problems: ["Topic 'jobs': Redis does not answer for partitions 2"],
      topics: [{ owned: ALL_FOUR, unowned: [], unreachable: [2] }],
    });
  });

  it('is down within its timeout while Redis hangs, and up again afterwards', async () => {
    await onOwnRedis(async (own) => {
      const app = await own.start({ providers: [Jobs], options: FOUR_PARTITIONS });
      const health = healthOf(app);
      const pid = Number(/^process_id:(\d+)/m.exec(await own.redis.info('server'))?.[1]);
      process.kill(pid, 'SIGSTOP');
      const startedAt = performance.now();
      const report = await health.check({ timeout: 300 });
      expect(performance.now() - startedAt).toBeLessThan(300 + BUSY_HOST);
      process.kill(pid, 'SIGCONT');

      expect(report).toMatchObject({
        status: 'down',
        problems: ['Redis cannot be reached: No answer within 300 ms'],
        connection: { status: 'down', roundTrip: undefined, signals: 'down', error: 'No answer within 300 ms' },
        topics: [{ unreachable: ALL_FOUR }],
      });
      await eventually(async () => expect(await health.check()).toMatchObject({ status: 'up' }));
    });
  });

  it('is down while this process makes no progress, though Redis answers', async () => {
    const app = await bed.start({ providers: [Jobs], options: { consumer: { maxIdleWait: 100 } } });
    const broker = brokerOf(app.nest);
    const claim = broker.deliveries.claim.bind(broker.deliveries);
    const hung = new Gate();
    const claims = vi.spyOn(broker.deliveries, 'claim').mockImplementation(async (...args) => {
      await hung.opened;
      return claim(...args);
    });
    const { dueAt } = await app.producer.publish('jobs', 1, { id: 'a' });

    expect(await healthOf(app).check()).toMatchObject({ status: 'up', topics: [{ stalled: false }] });
    await eventually(async () => {
      const report = await healthOf(app).check();
      expect(report).toMatchObject({
        status: 'down',
        problems: ["Topic 'jobs': this process makes no progress, though it is connected"],
        connection: { status: 'up', signals: 'up' },
        topics: [{ unowned: [], stalled: true, saturated: false, overdue: { messages: 1, oldestDueAt: dueAt } }],
      });
      expect(report.topics[0]?.overdue?.lateness).toBeGreaterThan(1000);
    });
    hung.open();
    claims.mockRestore();
    await app.events.acked.first();
    await eventually(async () => expect(await healthOf(app).check()).toMatchObject({ status: 'up' }));
  });

  it('is down while Redis is gone, which is no wedge however long it takes', async () => {
    await onOwnRedis(async (own, server) => {
      const app = await own.start({ providers: [Jobs], options: { consumer: { maxIdleWait: 100 } } });
      await server.kill();
      await sleep(1500);
      const report = await healthOf(app).check();
      await server.start();
      await eventually(async () => expect(await healthOf(app).check()).toMatchObject({ status: 'up' }));

      expect(report).toMatchObject({ status: 'down', connection: { status: 'down' }, topics: [{ stalled: false }] });
      expect(report.problems).toEqual([expect.stringMatching(/^Redis cannot be reached: .*127\.0\.0\.1/)]);
    });
  });

  it('is down while heartbeats are not answered', async () => {
    const app = await bed.start({ providers: [Jobs], options: { consumer: { maxIdleWait: 100 } } });
    const broker = brokerOf(app.nest);
    const heartbeat = broker.fleet.heartbeat.bind(broker.fleet);
    const hung = new Gate();
    const heartbeats = vi.spyOn(broker.fleet, 'heartbeat').mockImplementation(async (...args) => {
      await hung.opened;
      return heartbeat(...args);
    });

    await eventually(async () =>
      expect(await healthOf(app).check()).toMatchObject({
        status: 'down',
        problems: expect.arrayContaining(['This process sends no heartbeats, though it is connected']),
        session: { status: 'down', stalled: true },
        topics: [{ stalled: false }],
      }),
    );
    await app.producer.publish('jobs', 1);
    await app.events.acked.first();
    hung.open();
    heartbeats.mockRestore();
    await eventually(async () => expect(await healthOf(app).check()).toMatchObject({ status: 'up' }));
  });
});

describe('DelayQueueHealth.check() does not take for stuck', () => {
  const impatient = { ...FOUR_PARTITIONS, consumer: { maxIdleWait: 100, concurrency: 1 } };

  it('a busy process', async () => {
    const app = await bed.start({ providers: [Jobs], options: impatient });
    const gate = new Gate();
    app.get(Jobs).respond = async () => gate.opened;
    await app.producer.publishMany(
      'jobs',
      Array.from({ length: 8 }, (_, i) => ({ payload: i })),
    );

    await eventually(async () => {
      const { status, topics } = await healthOf(app).check();
      expect(topics[0]?.overdue?.lateness).toBeGreaterThan(1500);
      expect({ status, topics }).toMatchObject({
        status: 'up',
        topics: [{ saturated: true, stalled: false, overdue: { messages: 7 } }],
      });
    });
    gate.open();
    await app.events.acked.take(8);
    expect(await healthOf(app).check()).toMatchObject({ status: 'up', topics: [{ saturated: false }] });
  });

  it('a paused topic', async () => {
    const app = await bed.start({ providers: [Jobs], options: impatient });
    await Promise.all(
      ALL_FOUR.map(async (index) => bed.redis.hset(bed.partition('jobs', index).key('meta'), 'paused', '1')),
    );
    await app.producer.publish('jobs', 1);

    await eventually(async () => {
      const { status, topics } = await healthOf(app).check();
      expect(topics[0]?.overdue?.lateness).toBeGreaterThan(1500);
      expect({ status, topics }).toMatchObject({ status: 'up', topics: [{ paused: true, stalled: false }] });
    });
    expect(app.get(Jobs).calls).toEqual([]);
  });
});

describe('the options of DelayQueueHealth.check()', () => {
  it.each([
    [{ timeout: 0 }, /timeout must be between 1 ms and 1 minute. Given: 0/],
    [{ timeout: '2 minutes' }, /timeout must be between 1 ms and 1 minute/],
    [{ timeout: 'soon' }, /timeout must be a duration/],
    [{ deadline: 1 }, /no option 'deadline' in the options of check/],
    ['2s', /must be an object/],
  ])('are checked: %j', async (options, message) => {
    const app = await bed.start({ options: { consumer: false } });
    const check = healthOf(app).check(options as { timeout: number });
    await expect(check).rejects.toThrow(InvalidArgumentError);
    await expect(check).rejects.toThrow(message);
  });
});
