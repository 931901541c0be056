import { setTimeout } from 'node:timers/promises';
import { Test } from '@nestjs/testing';
import { DelayQueueModule, DelayQueueProducer } from 'nestjs-delay-queue';
import { DelayQueueHarness, DelayQueueTestingModule } from 'nestjs-delay-queue/testing';
import { describe, expect, it } from 'vitest';
import { abortOf } from '../../support/waiting.js';
import { MINUTE, SECOND, START, boot, realDuration, start, useKitBed } from '../../support/kit/kit-bed.js';
import { Jobs } from '../../support/kit/jobs.js';

/** The default, which passes on the harness's clock and not in real time; milliseconds. */
const SHUTDOWN_TIMEOUT = 10_000;

useKitBed();

describe('closing', () => {
  it('moves no time and takes none if nothing runs, whatever waits', async () => {
    const { app, harness, producer } = await start();
    for (const delay of ['1m', '30d']) await producer.publish('jobs', delay, { delay });

    expect(await realDuration(app.close())).toBeLessThan(SHUTDOWN_TIMEOUT / 2);

    expect(harness.now).toEqual(START);
    expect(harness.scheduled('jobs')).toHaveLength(2);
  });

  it('waits for a handler that works', async () => {
    const { app, harness, producer, jobs, tape } = await start({ patience: '10s' });
    const acked = tape('acked');
    jobs.respond = async () => setTimeout(30);
    await producer.publish('jobs', 1);

    await app.close();

    expect(acked).toHaveLength(1);
    expect(harness.now).toEqual(START);
  });

  it('gives up a handler that hangs when the shutdown timeout is over, on the clock', async () => {
    const { app, harness, producer, jobs, logs, elapsed } = await start({ patience: 30 });
    const reasons: unknown[] = [];
    jobs.respond = async (_payload, { signal }) => {
      reasons.push(await abortOf(signal), elapsed());
      await new Promise(() => {});
    };
    await producer.publish('jobs', 1, { id: 'a', delay: '1m' });
    await harness.advance('1m');

    expect(await realDuration(app.close())).toBeLessThan(SHUTDOWN_TIMEOUT / 2);

    expect(reasons).toMatchObject([{ code: 'SHUTDOWN' }, MINUTE + 10 * SECOND]);
    expect(logs.warnings).toEqual([
      "1 handler still runs after 10000 ms; its message is given back: 'a' of topic 'jobs' in Jobs.handle. If it awaits " +
        'app.close(), it waits for itself: call app.close() there without await',
    ]);
    expect(harness.scheduled('jobs')).toMatchObject([{ id: 'a', attempts: 0 }]);
  });

  it('does not hang while the broker is disconnected', async () => {
    const { app, harness, producer, jobs, logs } = await start({ patience: 30 });
    jobs.respond = () => harness.disconnect();
    await producer.publish('jobs', 1);
    await harness.advance('5m');

    expect(await realDuration(app.close())).toBeLessThan(SHUTDOWN_TIMEOUT / 2);

    expect(logs.errors.join()).toContain('1 outcome could not be confirmed');
  });

  it('waits for time that is moving', async () => {
    const { app, harness, producer, jobs, elapsed } = await start();
    await producer.publish('jobs', 1, { delay: '1h' });

    await Promise.all([harness.advance('2h'), app.close()]);

    expect(elapsed()).toBe(2 * 60 * MINUTE);
    expect(jobs.calls).toHaveLength(0);
  });

  it('works if the application was never initialized, and works twice', async () => {
    const module = await Test.createTestingModule({ imports: [DelayQueueTestingModule.forRoot()] }).compile();
    await module.close();
    await expect(module.close()).resolves.toBeUndefined();
  });

  it('leaves the other applications of a harness running', async () => {
    const harness = new DelayQueueHarness({ now: START, patience: 30 });
    const setup = { imports: [DelayQueueModule.forRoot()], providers: [Jobs] };
    const { module: first } = await boot(setup, harness);
    const { module: second } = await boot(setup, harness);
    await first.get(DelayQueueProducer).publish('jobs', 1, { delay: '1h' });

    await first.close();
    expect(harness.now).toEqual(START);
    await harness.advance('1h');

    expect(second.get(Jobs).calls).toHaveLength(1);
  });
});

describe('closing in a handler', () => {
  it('waits for the handler if that awaits it, and says so', async () => {
    const { app, harness, producer, jobs, tape, logs, elapsed } = await start({ patience: 30 });
    const released = tape('released');
    const closed = new Promise<void>((resolve) => {
      jobs.respond = async () => {
        await app.close();
        resolve();
      };
    });
    await producer.publish('jobs', 1, { id: 'stop' });
    await closed;

    expect(elapsed()).toBe(10 * SECOND);
    expect(released).toMatchObject([{ id: 'stop' }]);
    expect(harness.scheduled('jobs')).toMatchObject([{ id: 'stop' }]);
    expect(logs.warnings.join()).toContain(
      "'stop' of topic 'jobs' in Jobs.handle. If it awaits app.close(), it waits for itself: call app.close() there without await",
    );
  });

  it('acknowledges the message at once if the handler does not await it', async () => {
    const { app, harness, producer, jobs, tape, logs, elapsed } = await start({ patience: 30 });
    const acked = tape('acked');
    const closed = new Promise<void>((resolve) => {
      jobs.respond = () => {
        void app.close().then(resolve);
      };
    });
    await producer.publish('jobs', 1, { id: 'stop' });
    await closed;

    expect(elapsed()).toBe(0);
    expect(acked).toMatchObject([{ id: 'stop' }]);
    expect(harness.scheduled('jobs')).toEqual([]);
    expect(logs.warnings).toEqual([]);
  });
});
