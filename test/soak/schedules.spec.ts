import { randomUUID } from 'node:crypto';
import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  type ConnectedDelayQueueAdmin,
  createDelayQueueAdmin,
  DelayQueueModule,
  DelayQueueSchedules,
} from 'nestjs-delay-queue';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { Fleet, type FleetProcess } from '../support/processes/fleet.js';
import { report } from '../support/readings/statistics.js';
import { until } from '../support/waiting.js';

const TOPIC = 'work';
const SECOND = 1000;

/** How long processes are killed, in seconds. */
const SECONDS = 300;

/** Processes that find out soon that another one has died, so that many can. */
const WORKER = { lease: 2000, maxIdleWait: 200, concurrency: 100 };

const OUTAGE = 30 * SECOND;

/** Longer than the sessions of those that were killed, and their leases. */
const SETTLED = 20 * SECOND;

/** The time of an occurrence, from the id of its message. */
function timeOf(id: string): number {
  return Date.parse(id.slice(id.indexOf('@') + 1));
}

describe('the schedules of a fleet', () => {
  let fleet: Fleet;
  let admin: ConnectedDelayQueueAdmin;
  let app: INestApplicationContext;
  let schedules: DelayQueueSchedules;
  let config: { redisUrl: string; prefix: string; topic: string; partitions: number };

  beforeEach(async () => {
    fleet = new Fleet();
    config = { redisUrl: inject('redisUrl'), prefix: randomUUID(), topic: TOPIC, partitions: 4 };
    const { redisUrl: redis, prefix } = config;
    admin = await createDelayQueueAdmin({ redis, prefix });
    const topics = { [TOPIC]: { partitions: config.partitions } };
    @Module({ imports: [DelayQueueModule.forRoot({ redis, prefix, topics, consumer: false })] })
    class Publisher {}
    app = await NestFactory.createApplicationContext(Publisher, { logger: false });
    schedules = app.get(DelayQueueSchedules);
  });

  afterEach(async () => {
    await fleet.end();
    await app.close();
    await admin.close();
  });

  async function startSix(): Promise<FleetProcess[]> {
    const processes = Array.from({ length: 6 }, (_, i) => startOne(i));
    await Promise.all(processes.map((one) => one.reported('ready')));
    return processes;
  }

  function startOne(number: number): FleetProcess {
    return fleet.start(`worker ${number}`, 'consumer', { ...config, ...WORKER });
  }

  /** The times of what was handled of a schedule, each once, ascending; whatever is delivered again has the same id. */
  function handledTimes(schedule: string): number[] {
    const ids = fleet.handled.map(({ id }) => id).filter((id) => id.startsWith(`${schedule}@`));
    return [...new Set(ids)].map(timeOf).toSorted((a, b) => a - b);
  }

  it(
    'occur once each, while one process after the other is killed',
    { timeout: (SECONDS + 120) * SECOND },
    async () => {
      const processes = await startSix();
      const tick = await schedules.upsert({ id: 'tick', topic: TOPIC, payload: null, every: '1s', catchUp: 'all' });
      const cron = { cron: '*/2 * * * * *', timeZone: 'Europe/Berlin', catchUp: 'all' } as const;
      const byCron = await schedules.upsert({ id: 'berlin', topic: TOPIC, payload: null, ...cron });
      const begun = Date.now();
      let kills = 0;
      while (Date.now() - begun < SECONDS * SECOND) {
        const victim = processes.shift() as FleetProcess;
        await victim.kill();
        kills++;
        const next = startOne(5 + kills);
        processes.push(next);
        await next.reported('ready');
        await until('some occurrences', () => handledTimes('tick').length > kills, SETTLED);
      }
      await schedules.pause('tick');
      await schedules.pause('berlin');
      const { published } = (await admin.stats(TOPIC)).counters;
      await until('all to be handled', async () => (await admin.stats(TOPIC)).counters.acked === published, SETTLED);

      const [ticks, berlin] = [handledTimes('tick'), handledTimes('berlin')];
      report(`${kills} kills in ${SECONDS} s: ${ticks.length} occurrences each second, ${berlin.length} by cron`);
      const last = new Map((await schedules.list()).map((one) => [one.id, one.last]));
      expect(ticks).toEqual(everyTime(tick.next, last.get('tick'), SECOND));
      expect(berlin).toEqual(everyTime(byCron.next, last.get('berlin'), 2 * SECOND));
      expect(ticks.length).toBeGreaterThanOrEqual(SECONDS - SETTLED / SECOND);
      expect(berlin.length).toBeGreaterThanOrEqual((SECONDS - SETTLED / SECOND) / 2);
      expect(published).toBe(ticks.length + berlin.length);
      expect((await schedules.list()).map(({ missed }) => missed)).toEqual([0, 0]);
    },
  );

  it('catch up after an outage of 30 s as each says', { timeout: 180 * SECOND }, async () => {
    const kinds = ['latest', 'all', 'none'] as const;
    const first = await startSix();
    for (const catchUp of kinds) {
      await schedules.upsert({ id: catchUp, topic: TOPIC, payload: null, every: '1s', catchUp });
    }
    await until('the first occurrences', () => kinds.every((kind) => handledTimes(kind).length >= 3), SETTLED);
    await Promise.all(first.map((one) => one.kill()));
    const before = new Map(kinds.map((kind) => [kind, handledTimes(kind).at(-1) as number]));
    await new Promise((resolve) => setTimeout(resolve, OUTAGE));
    await startSix();
    await until(
      'occurrences after the outage',
      () => kinds.every((kind) => (handledTimes(kind).at(-1) as number) > (before.get(kind) as number) + OUTAGE + 3000),
      30 * SECOND,
    );

    const [latest, all, none] = kinds.map((kind) => gapsOf(handledTimes(kind)));
    expect(all).toEqual([]);
    // Only the latest of them; and nothing of them at all.
    expect(latest).toHaveLength(1);
    expect(latest?.[0]).toBeGreaterThan(20 * SECOND);
    expect(none).toHaveLength(1);
    expect(none?.[0]).toBeGreaterThanOrEqual(latest?.[0] as number);
    const missed = new Map((await schedules.list()).map((one) => [one.id, one.missed]));
    expect(missed.get('all')).toBe(0);
    expect(missed.get('latest')).toBe((latest?.[0] as number) / SECOND - 1);
    expect(missed.get('none')).toBe((none?.[0] as number) / SECOND - 1);
  });
});

/** The times from the first to the last, both included. */
function everyTime(first: Date | undefined, last: Date | undefined, interval: number): number[] {
  if (!first || !last) throw new Error('nothing has occurred');
  const count = (last.getTime() - first.getTime()) / interval + 1;
  return Array.from({ length: count }, (_, i) => first.getTime() + i * interval);
}

/** The times between two occurrences that do not follow each other by a second. */
function gapsOf(times: readonly number[]): number[] {
  return times.flatMap((time, i) =>
    i > 0 && time - (times[i - 1] as number) !== SECOND ? [time - (times[i - 1] as number)] : [],
  );
}
