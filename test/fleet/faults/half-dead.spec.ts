import { DelayQueueHealth } from 'nestjs-delay-queue';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { useBed } from '../../support/app/bed.js';
import { Jobs } from '../../support/app/jobs.js';
import { report } from '../../support/readings/statistics.js';
import { eventually } from '../../support/waiting.js';
import { FaultProxy } from '../../support/servers/fault-proxy.js';

/** What a check may take, and what a busy host may add; in milliseconds. */
const TIMEOUT = 300;
const BUSY_HOST = 5000;

/** After this time ioredis itself finds a connection dead if something was sent on it, in milliseconds. */
const SOCKET_TIMEOUT = 10_000;

const bed = useBed();
let proxy: FaultProxy;

beforeEach(async () => {
  proxy = await FaultProxy.start(Number(new URL(inject('redisUrl')).port));
});

afterEach(async () => proxy.close());

/** Starts an application behind the proxy and lets it handle a message. */
async function startBehindProxy(maxIdleWait: number) {
  // The lease is short: messages whose claim lost its reply come again when the lease ends.
  const options = { redis: proxy.url, publishTimeout: '30s', consumer: { maxIdleWait, lease: '1s' } };
  const app = await bed.start({ providers: [Jobs], options });
  const health = app.get(DelayQueueHealth);
  await app.producer.publish('jobs', 'before');
  await app.events.acked.first();
  expect(await health.check()).toMatchObject({ status: 'up' });
  return { app, health };
}

/** Runs a check and expects its result in time. */
async function checkInTime(health: DelayQueueHealth) {
  const startedAt = performance.now();
  const found = await health.check({ timeout: TIMEOUT });
  expect(performance.now() - startedAt).toBeLessThan(TIMEOUT + BUSY_HOST);
  return found;
}

describe('a connection that is open but dead in one direction', () => {
  it('is detected by a check and made anew: calls', async () => {
    const { app, health } = await startBehindProxy(200);
    proxy.deafen('calls');
    const brokenAt = performance.now();

    expect(await checkInTime(health)).toMatchObject({
      status: 'down',
      problems: [`Redis cannot be reached: No answer within ${TIMEOUT} ms`],
    });
    await app.producer.publish('jobs', 'during', { id: 'during' });
    await app.events.acked.first(({ id }) => id === 'during', SOCKET_TIMEOUT);
    const healedAfter = performance.now() - brokenAt;

    expect(healedAfter).toBeLessThan(SOCKET_TIMEOUT / 2);
    expect(app.logs.warnings.filter((line) => line.startsWith('Redis has not answered for '))).toHaveLength(1);
    await eventually(async () => expect(await health.check()).toMatchObject({ status: 'up' }));
    report(`Half-dead connection for calls: messages flow again after ${healedAfter.toFixed(0)} ms`);
  });

  it('is told by a check, and made anew: signals', async () => {
    const { app, health } = await startBehindProxy(1000);
    proxy.deafen('signals');
    const brokenAt = performance.now();

    expect(await checkInTime(health)).toMatchObject({
      status: 'degraded',
      problems: ['Signals do not come through'],
      connection: { status: 'up', signals: 'down' },
    });
    const latenesses: number[] = [];
    await eventually(async () => {
      const { id } = await app.producer.publish('jobs', 'during');
      const { lateness } = await app.events.delivered.first((event) => event.id === id);
      latenesses.push(lateness);
      expect(lateness).toBeLessThan(100);
    }, SOCKET_TIMEOUT);
    const healedAfter = performance.now() - brokenAt;

    // Without signals a message waits until the process sees that it does not hear itself.
    expect(latenesses[0]).toBeGreaterThan(200);
    expect(healedAfter).toBeLessThan(SOCKET_TIMEOUT * 0.7);
    expect(app.logs.warnings.filter((line) => line.startsWith('Signals do not come through'))).toHaveLength(1);
    await eventually(async () => expect(await health.check()).toMatchObject({ status: 'up' }));
    report(`Half-dead connection for signals: messages are in time again after ${healedAfter.toFixed(0)} ms`);
  });
});
