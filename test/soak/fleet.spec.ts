import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, inject, it } from 'vitest';
import { until } from '../support/waiting.js';
import { type PrivateRedis, startRedis } from '../support/servers/redis-server.js';
import { Fleet, notHandledOnce } from '../support/processes/fleet.js';
import { percentile, report } from '../support/readings/statistics.js';

/** With the default `maxIdleWait`; milliseconds. */
const HEARTBEAT = 5000;

/**
 * How late half of the messages may be at most, in milliseconds: those that only the heartbeat finds wait for half of it on
 * average. How late messages are on an idle host, the benchmark says.
 */
const LATEST = HEARTBEAT / 5;

/** With a `maxIdleWait` of 200 ms; milliseconds. */
const SESSION = 400;

/** Milliseconds. */
const DEFAULT_SESSION = 10_000;
const DEFAULT_LEASE = 30_000;

describe('a fleet of processes', () => {
  let fleet: Fleet;
  let redis: PrivateRedis | undefined;

  afterEach(async () => {
    await fleet.end();
    await redis?.stop();
    redis = undefined;
  });

  it('handles each of 10,000 messages once, on time, and rebalances when processes join and leave', async () => {
    fleet = new Fleet();
    redis = await startRedis();
    const config = { redisUrl: redis.url, prefix: 'fleet', topic: 'work', partitions: 8 };
    const consumers = ['c1', 'c2', 'c3'].map((name) => fleet.start(name, 'consumer', config));
    await Promise.all(consumers.map((consumer) => consumer.reported('ready')));
    await until('three balanced shares', () => sizes(consumers) === '2,3,3');

    const load = { ...config, count: 5000, maxDelay: 5000, spread: 2000 };
    const producers = ['p1', 'p2'].map((name) => fleet.start(name, 'producer', { ...load, idPrefix: `${name}-` }));
    await Promise.all(producers.map((producer) => producer.reported('published')));
    const ids = producers.flatMap((producer) => producer.all('published').flatMap((published) => published.ids));
    await until('all to be handled', () => fleet.handled.length >= ids.length, 20_000);

    const lateness = fleet.handled.map(({ redisTime, dueAt }) => redisTime - dueAt);
    const [p50, p99] = [percentile(lateness, 0.5), percentile(lateness, 0.99)];
    report(`10,000 messages: lateness p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`);
    expect(notHandledOnce(fleet.handled, ids)).toEqual({});
    expect(Math.min(...lateness)).toBeGreaterThanOrEqual(0);
    expect(p50).toBeLessThanOrEqual(LATEST);

    // A fourth joins and one leaves while messages keep falling due.
    const stream = fleet.start('p3', 'producer', { ...load, spread: 4000, maxDelay: 1000, idPrefix: 'p3-' });
    await until('the stream to flow', () => fleet.handled.length > ids.length + 200);
    const fourth = fleet.start('c4', 'consumer', config);
    await fourth.reported('ready');
    const joinedAt = performance.now();
    await until('four balanced shares', () => sizes([...consumers, fourth]) === '2,2,2,2', 2 * HEARTBEAT);
    const joinTook = performance.now() - joinedAt;
    const leftAt = performance.now();
    consumers[0]?.signal('SIGTERM');
    const rest = [...consumers.slice(1), fourth];
    await until('three balanced shares again', () => sizes(rest) === '2,3,3', 2 * HEARTBEAT);
    report(
      `balanced ${joinTook.toFixed(0)} ms after the join, ${(performance.now() - leftAt).toFixed(0)} ms after the leave`,
    );
    await consumers[0]?.exit();
    // Nest raises the signal again once the application is closed.
    expect(consumers[0]?.ending).toBe('SIGTERM');

    await stream.reported('published');
    const all = [...ids, ...stream.all('published').flatMap((published) => published.ids)];
    await until('the stream to be handled', () => fleet.handled.length >= all.length, 20_000);
    expect(notHandledOnce(fleet.handled, all)).toEqual({});
    expect(fleet.ownershipOverlaps()).toEqual([]);
    expect(fleet.handled.every(({ attempt }) => attempt === 1)).toBe(true);
  }, 90_000);

  it('gives the messages of a killed process to another one when their leases end', async () => {
    fleet = new Fleet();
    const config = { redisUrl: inject('redisUrl'), prefix: randomUUID(), topic: 'work', partitions: 2 };
    const timing = { lease: 1000, maxIdleWait: 200, handlerTime: 300 };
    const victim = fleet.start('victim', 'consumer', { ...config, ...timing, handlerTime: 60_000 });
    await victim.reported('ready');
    fleet.start('p', 'producer', { ...config, count: 20, maxDelay: 0, spread: 0, idPrefix: 'm' });
    await until('all to be in the hands of the victim', () => victim.all('started').length === 20);
    const heir = fleet.start('heir', 'consumer', { ...config, ...timing });
    await heir.reported('ready');
    await victim.kill();
    const killedAt = performance.now();
    await until('the heir to own all', () => heir.owned.length === 2);
    const ownedAfter = performance.now() - killedAt;
    await until('the heir to be handed all messages', () => heir.all('started').length === 20);
    const redeliveredAfter = performance.now() - killedAt;
    report(
      `after SIGKILL: partitions owned in ${ownedAfter.toFixed(0)} ms (session ${SESSION} ms), ` +
        `messages redelivered in ${redeliveredAfter.toFixed(0)} ms (lease ${timing.lease} ms)`,
    );
    // Half of what they take with the default settings, so that it is these that count.
    expect(ownedAfter).toBeLessThan(DEFAULT_SESSION / 2);
    expect(redeliveredAfter).toBeLessThan(DEFAULT_LEASE / 2);
    await until('the heir to handle them', () => heir.handled.length === 20);
    expect(heir.handled.every(({ attempt }) => attempt === 1)).toBe(true);
  }, 30_000);

  it('ignores and reports the late settle of a process that was stopped beyond its lease', async () => {
    fleet = new Fleet();
    const config = { redisUrl: inject('redisUrl'), prefix: randomUUID(), topic: 'work', partitions: 1 };
    const timing = { lease: 1000, maxIdleWait: 200 };
    const sleeper = fleet.start('sleeper', 'consumer', { ...config, ...timing, handlerTime: 500 });
    await sleeper.reported('ready');
    fleet.start('p', 'producer', { ...config, count: 1, maxDelay: 0, spread: 0, idPrefix: 'm' });
    await sleeper.reported('started');
    sleeper.signal('SIGSTOP');

    const heir = fleet.start('heir', 'consumer', { ...config, ...timing, handlerTime: 3000 });
    await heir.reported('started');
    sleeper.signal('SIGCONT');
    await sleeper.reported('stale');
    expect(sleeper.all('stale')).toEqual([{ kind: 'stale', id: 'm0', attempt: 1 }]);

    await heir.reported('handled');
    expect(heir.handled).toMatchObject([{ id: 'm0', attempt: 1 }]);
    expect(heir.all('stale')).toEqual([]);
    const client = new Redis(config.redisUrl);
    await until('the ack of the heir to count', async () => {
      return (await client.exists(`{${config.prefix}:work:0}:messages`)) === 0;
    });
    client.disconnect();
  }, 30_000);

  it('lets running handlers finish at SIGTERM, gives the other messages back, and exits without help', async () => {
    fleet = new Fleet();
    const config = { redisUrl: inject('redisUrl'), prefix: randomUUID(), topic: 'work', partitions: 4 };
    const slow = { ...config, handlerTime: 60_000, shutdownTimeout: 300, concurrency: 50 };
    const leaver = fleet.start('leaver', 'consumer', slow);
    await leaver.reported('ready');
    fleet.start('p', 'producer', { ...config, count: 50, maxDelay: 0, spread: 0, idPrefix: 'm' });
    await until('50 running handlers', () => leaver.all('started').length === 50);
    const heir = fleet.start('heir', 'consumer', config);
    await heir.reported('ready');
    leaver.signal('SIGTERM');
    await until('the heir to handle all', () => heir.handled.length === 50);
    expect(heir.handled.every(({ attempt }) => attempt === 1)).toBe(true);
    await leaver.exit();
    expect(leaver.ending).toBe('SIGTERM');
    expect(leaver.all('aborted').map(({ code }) => code)).toEqual(Array.from({ length: 50 }, () => 'SHUTDOWN'));
  }, 30_000);
});

/** Sizes of the processes' shares, ascending. */
function sizes(processes: readonly { readonly owned: readonly number[] }[]): string {
  return processes
    .map(({ owned }) => owned.length)
    .toSorted((a, b) => a - b)
    .join();
}
