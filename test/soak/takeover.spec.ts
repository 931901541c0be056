import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { Fleet, type FleetProcess, notHandledOnce } from '../support/processes/fleet.js';
import { ownersAmong } from '../support/stored-fleet.js';
import { report } from '../support/readings/statistics.js';
import { until } from '../support/waiting.js';

const PARTITIONS = 4;

/** With a `maxIdleWait` of 200 ms a session lasts 400 ms. */
const SHORT = { lease: 1000, maxIdleWait: 200 };

/** Half of the default heartbeat, in milliseconds: what only a heartbeat finds takes so long on average, and often longer. */
const HALF_A_HEARTBEAT = 2500;

describe('the partitions of a process', () => {
  let fleet: Fleet;
  let redis: Redis;
  let config: { redisUrl: string; prefix: string; topic: string; partitions: number };

  beforeEach(() => {
    fleet = new Fleet();
    config = { redisUrl: inject('redisUrl'), prefix: randomUUID(), topic: 'work', partitions: PARTITIONS };
    redis = new Redis(config.redisUrl);
  });

  afterEach(async () => {
    await fleet.end();
    redis.disconnect();
  });

  /** Starts two processes, one after the other, and waits until each has its share. */
  async function startTwo(timing: object): Promise<[FleetProcess, FleetProcess]> {
    const first = fleet.start('first', 'consumer', { ...config, ...timing });
    await first.reported('ready');
    const second = fleet.start('second', 'consumer', { ...config, ...timing });
    await second.reported('ready');
    await until('two shares', () => first.owned.length === 2 && second.owned.length === 2);
    return [first, second];
  }

  /** The processes that Redis has as owners, a process id for each partition that is owned. */
  async function storedOwners(): Promise<number[]> {
    const keys = Array.from({ length: PARTITIONS }, (_, index) => `{${config.prefix}:work:${index}}:owner`);
    return (await ownersAmong(redis, keys)).map((session) => Number(session.split(':').at(-2)));
  }

  it('go to another one within 15 s if it is killed, with the default settings', { timeout: 60_000 }, async () => {
    const [victim, heir] = await startTwo({});
    const killedAt = performance.now();
    await victim.kill();
    await until('the heir to own all', () => heir.owned.length === PARTITIONS, 30_000);
    const took = performance.now() - killedAt;
    report(`after SIGKILL, with the default settings: partitions taken over in ${took.toFixed(0)} ms`);
    expect(took).toBeLessThan(15_000);
  });

  it('go to another one at once if it leaves', { timeout: 60_000 }, async () => {
    const [leaver, heir] = await startTwo({});
    const toldAt = performance.now();
    leaver.signal('SIGTERM');
    await until('the heir to own all', () => heir.owned.length === PARTITIONS);
    const took = performance.now() - toldAt;
    report(`after SIGTERM: partitions taken over in ${took.toFixed(0)} ms`);
    expect(took).toBeLessThan(HALF_A_HEARTBEAT);
    expect(new Set(await storedOwners())).toEqual(new Set([heir.pid]));
    expect(fleet.ownershipOverlaps()).toEqual([]);
  });

  it('are its own again, in Redis too, after it stood still beyond its session', { timeout: 60_000 }, async () => {
    const [sleeper, heir] = await startTwo(SHORT);
    sleeper.signal('SIGSTOP');
    await until('the heir to own all', () => heir.owned.length === PARTITIONS);
    sleeper.signal('SIGCONT');

    await until('both to own their shares', async () => {
      const stored = await storedOwners();
      return [sleeper, heir].every(({ pid }) => stored.filter((owner) => owner === pid).length === 2);
    });
    await until('both to know', () => sleeper.owned.length === 2 && heir.owned.length === 2);
    const producer = fleet.start('p', 'producer', { ...config, count: 200, maxDelay: 200, spread: 0, idPrefix: 'm' });
    await producer.reported('published');
    await until('all to be handled', () => fleet.handled.length >= 200);
    expect(
      notHandledOnce(
        fleet.handled,
        producer.all('published').flatMap(({ ids }) => ids),
      ),
    ).toEqual({});
    expect(fleet.handled.every(({ attempt }) => attempt === 1)).toBe(true);
  });

  it('move on while every process is replaced, and no message waits for a heartbeat', { timeout: 90_000 }, async () => {
    const old = await startTwo({});
    const load = { count: 2000, maxDelay: 500, spread: 6000, idPrefix: 'm' };
    const producer = fleet.start('p', 'producer', { ...config, ...load });
    await until('the stream to flow', () => fleet.handled.length > 100);
    for (const [i, leaver] of old.entries()) {
      const newcomer = fleet.start(`new${i}`, 'consumer', config);
      await newcomer.reported('ready');
      leaver.signal('SIGTERM');
      await leaver.exit();
    }
    await producer.reported('published');
    await until('all to be handled', () => fleet.handled.length >= load.count, 30_000);

    const latest = Math.max(...fleet.handled.map(({ redisTime, dueAt }) => redisTime - dueAt));
    report(`2,000 messages while two processes are replaced: late by at most ${latest.toFixed(0)} ms`);
    expect(
      notHandledOnce(
        fleet.handled,
        producer.all('published').flatMap(({ ids }) => ids),
      ),
    ).toEqual({});
    expect(latest).toBeLessThan(HALF_A_HEARTBEAT);
    expect(fleet.ownershipOverlaps()).toEqual([]);
  });
});
