import { setTimeout } from 'node:timers/promises';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { DelayedHandler, type DelayedMessage, DelayQueueModule } from 'nestjs-delay-queue';
import { expect, it, onTestFinished } from 'vitest';
import { installProgram } from '../support/cli/packed-program.js';
import { type PrivateRedis, startRedis } from '../support/servers/redis-server.js';
import { eventually, until } from '../support/waiting.js';

const JOBS = 100_000;
const QUEUE = 'orders';
const TOPIC = 'order.timeout';

/** From the first due time to the last, in milliseconds: the import is under way during much of it. */
const SPREAD = 24_000;

/** Between the moment when all jobs are there and the first due time, in milliseconds. */
const HEAD_START = 1000;

/** The first run is killed once it has taken so many. */
const KILLED_AT = 10_000;

/** Loose, since the host may be busy and a run is killed in the middle; in milliseconds. */
const MOST_LATE = 120_000;

/** Jobs of one call. */
const CHUNK = 2000;

interface JobData {
  readonly number: number;
}

/** Which system has handled which job how often, and how far from its due time. */
class Ledger {
  readonly ours = new Uint8Array(JOBS);
  readonly theirs = new Uint8Array(JOBS);
  total = 0;
  earliest = Infinity;
  latest = -Infinity;
  #dueFrom = 0;

  /** @param dueFrom when the first job is due */
  begin(dueFrom: number): void {
    this.#dueFrom = dueFrom;
  }

  dueTime(number: number): number {
    return this.#dueFrom + Math.floor((number * SPREAD) / JOBS);
  }

  handled(counts: Uint8Array, number: number): void {
    const late = Date.now() - this.dueTime(number);
    counts[number] = (counts[number] ?? 0) + 1;
    this.total++;
    if (counts === this.ours) this.earliest = Math.min(this.earliest, late);
    this.latest = Math.max(this.latest, late);
  }

  /** How many jobs were handled so often. */
  times(): Record<number, number> {
    const counts: Record<number, number> = {};
    for (let i = 0; i < JOBS; i++) {
      const times = (this.ours[i] ?? 0) + (this.theirs[i] ?? 0);
      counts[times] = (counts[times] ?? 0) + 1;
    }
    return counts;
  }
}

/** Gives jobs other due times, as BullMQ's changeDelay does. */
const CHANGE_DELAYS = `
for i = 1, #ARGV, 2 do
  redis.call('ZADD', KEYS[1], ARGV[i + 1] * 0x1000, ARGV[i])
end`;

/** Adds all jobs, and says when they are due once all are there: how long adding takes, the host decides. */
async function fill(redis: PrivateRedis, ledger: Ledger): Promise<void> {
  const queue = new Queue<JobData>(QUEUE, { connection: { host: '127.0.0.1', port: redis.port } });
  const opts = { delay: 3_600_000, removeOnComplete: true, attempts: 3 };
  for (const numbers of chunks()) {
    await queue.addBulk(
      numbers.map((number) => ({ name: 'timeout', data: { number }, opts: { ...opts, jobId: `order-${number}` } })),
    );
  }
  await queue.close();

  const client = new Redis(redis.url);
  ledger.begin(Date.now() + HEAD_START);
  for (const numbers of chunks()) {
    const values = numbers.flatMap((number) => [`order-${number}`, ledger.dueTime(number)]);
    await client.eval(CHANGE_DELAYS, 1, `bull:${QUEUE}:delayed`, ...values);
  }
  client.disconnect();
}

function* chunks(): Generator<number[]> {
  for (let first = 0; first < JOBS; first += CHUNK) yield Array.from({ length: CHUNK }, (_, i) => first + i);
}

/** How many jobs the import has taken so far. */
async function takenBy(seen: Redis): Promise<number> {
  return Number(await seen.hget(`bull:${QUEUE}:delay-queue-import:settings`, 'taken'));
}

/** Workers of the application before, which go on during the import. */
function startWorker(redis: PrivateRedis, ledger: Ledger): Worker<JobData> {
  const worker = new Worker<JobData>(QUEUE, async ({ data: { number } }) => ledger.handled(ledger.theirs, number), {
    connection: { host: '127.0.0.1', port: redis.port },
    concurrency: 100,
  });
  worker.on('error', () => {});
  return worker;
}

/** The application after. */
async function startApplication(redis: PrivateRedis, ledger: Ledger): Promise<{ close(): Promise<void> }> {
  @Injectable()
  class Orders {
    @DelayedHandler(TOPIC)
    onTimeout({ number }: JobData, { id, headers }: DelayedMessage): void {
      expect([id, headers['bullmq-name']]).toEqual([`order-${number}`, 'timeout']);
      ledger.handled(ledger.ours, number);
    }
  }

  @Module({ imports: [DelayQueueModule.forRoot({ redis: redis.url })], providers: [Orders] })
  class App {}

  return NestFactory.createApplicationContext(App, { logger: false });
}

it('moves 100,000 jobs while some fall due, and each is handled once, although the import is killed in the middle', async () => {
  const [program, source, target] = await Promise.all([installProgram(), startRedis(), startRedis()]);
  onTestFinished(async () => void (await Promise.all([source.stop(), target.stop()])));
  const ledger = new Ledger();
  await fill(source, ledger);
  const worker = startWorker(source, ledger);
  const app = await startApplication(target, ledger);
  const seen = new Redis(source.url);
  onTestFinished(async () => {
    seen.disconnect();
    await Promise.all([worker.close(), app.close()]);
  });

  const command = [
    'import-bullmq',
    QUEUE,
    '--to',
    TOPIC,
    '--from',
    source.url,
    '--redis',
    target.url,
    '--yes',
    '--json',
  ];
  const killed = await program.run(command, {
    during: async ({ child }) => {
      await until('it to be in the middle', async () => (await takenBy(seen)) >= KILLED_AT, 60_000);
      child.kill('SIGKILL');
    },
  });
  expect([killed.code, killed.stdout]).toEqual([-1, '']);

  const { code, stdout, stderr } = await program.run(command, { limit: 200_000 });
  expect([code, stderr]).toEqual([0, expect.not.stringContaining('error')]);
  const { total, complete, left } = JSON.parse(stdout) as {
    total: Record<string, number>;
    complete: boolean;
    left: Record<string, number>;
  };
  expect(total).toEqual({ taken: total['published'], published: total['taken'], duplicates: 0, returned: 0, lost: 0 });
  expect([complete, left['delayed'], left['open']]).toEqual([true, 0, 0]);

  await eventually(() => expect(ledger.total).toBe(JOBS), 120_000);
  // What would be handled a second time would be by now.
  await setTimeout(500);
  expect(ledger.times()).toEqual({ 1: JOBS });
  const byUs = ledger.ours.reduce((sum, times) => sum + times, 0);
  expect(byUs).toBe(total['published']);
  // Some fell due meanwhile, so both have handled some.
  expect([byUs >= KILLED_AT, JOBS - byUs > 0]).toEqual([true, true]);
  expect(ledger.earliest).toBeGreaterThanOrEqual(0);
  expect(ledger.latest).toBeLessThan(MOST_LATE);
  expect(await seen.keys('bull:*delay-queue-import*')).toEqual([]);
}, 300_000);
