import type { ChildProcess } from 'node:child_process';
import { setTimeout } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Redis } from 'ioredis';
import { DelayedHandler, DelayQueueAdmin } from 'nestjs-delay-queue';
import { expect, inject, it } from 'vitest';
import { onOwnRedis } from '../support/app/bed.js';
import { BullmqBed } from '../support/bullmq/bullmq-bed.js';
import type { Outcome } from '../support/cli/run-in-process.js';
import { installProgram } from '../support/cli/packed-program.js';
import { SeededRandom } from '../support/random.js';
import { startRedis } from '../support/servers/redis-server.js';
import { eventually } from '../support/waiting.js';

const TOPIC = 'order.timeout';
const HOUR = 3_600_000;

/**
 * Jobs; the time over which every second one falls due, in milliseconds; and how many jobs are moved at most before an import is
 * disturbed again.
 */
const [JOBS, SPREAD, STEP] = inject('soak') ? [100_000, 120_000, 4000] : [10_000, 12_000, 1250];

/** Of each queue: jobs that are added at the end, under ids that come again, and jobs whose data would come back as something else. */
const [MORE, REFUSED] = [JOBS / 10, 20];

const CHUNK = 1000;

const LIMIT = inject('soak') ? 1_800_000 : 300_000;

/** What an import prints. */
interface Printed {
  readonly counted: number;
  readonly moved: number;
  readonly topics: Readonly<Record<string, number>>;
  readonly left: readonly { readonly reason: string; readonly count: number }[];
  readonly remaining: { readonly delayed: number };
}

it(
  'each job is handled once, or left and named, although two imports at a time are stopped, killed and started anew',
  async () =>
    onOwnRedis(async (own) => {
      const program = await installProgram();
      const server = await startRedis();
      const handled = { worker: new Map<number, number>(), handler: new Map<number, number>() };
      const twice: number[] = [];
      const note = (by: keyof typeof handled, order: number): void => {
        if (handled.worker.has(order) || handled.handler.has(order)) twice.push(order);
        handled[by].set(order, Date.now());
      };

      @Injectable()
      class Orders {
        @DelayedHandler(TOPIC)
        onTimeout({ order }: { order: number }): void {
          note('handler', order);
        }
      }

      const app = await own.start({ providers: [Orders] });
      const admin = app.get(DelayQueueAdmin);
      const published = async (): Promise<number> => (await admin.stats(TOPIC)).counters.published;

      // Two servers have queues of the same name, whose jobs have the same ids.
      const here = new BullmqBed(own.connection, own.prefix);
      const there = new BullmqBed({ host: '127.0.0.1', port: server.port }, here.prefix, here.name);
      const redisThere = new Redis(server.url);
      const queues = [here, there];
      const sides = [
        { bullmq: here, redis: own.redis },
        { bullmq: there, redis: redisThere },
      ];
      const workers = queues.map((bullmq) => bullmq.work((order) => note('worker', order), 50));
      const importing = async (
        bullmq: BullmqBed,
        more: readonly string[],
        during?: (child: ChildProcess) => Promise<void>,
      ) => {
        const from = `redis://${bullmq.connection.host}:${bullmq.connection.port}`;
        return program.run(
          ['import-bullmq', bullmq.name, TOPIC, '--from', from, '--from-prefix', bullmq.prefix, '--json', ...more],
          {
            env: {
              REDIS_URL: `redis://${own.connection.host}:${own.connection.port}`,
              DELAY_QUEUE_PREFIX: own.prefix,
            },
            during: async ({ child }) => during?.(child),
            limit: LIMIT,
          },
        );
      };

      const ended = new Set<BullmqBed>();
      const disturbances = { stopped: 0, killed: 0, gaveUp: 0, ended: 0 };
      /** One import after the other, of either queue, until of each queue one has come to its end. */
      const disturb = async (random: SeededRandom): Promise<void> => {
        const progress = async (child: ChildProcess): Promise<void> => {
          const until = (await published()) + random.integer(1, STEP);
          while ((await published()) < until && isRunning(child)) await setTimeout(5);
        };
        while (ended.size < queues.length) {
          const bullmq = random.pick(queues.filter((one) => !ended.has(one)));
          const { code, stderr } = await importing(bullmq, [], async (child) => {
            for (let stops = random.integer(0, 2); stops > 0; stops--) {
              await progress(child);
              if (child.kill('SIGSTOP')) disturbances.stopped++;
              await setTimeout(random.integer(0, 2000));
              child.kill('SIGCONT');
            }
            await progress(child);
            child.kill('SIGKILL');
          });
          // One that stood still may find that Redis did not answer in time.
          expect([-1, 0, 1, 3], stderr).toContain(code);
          if (code === -1) disturbances.killed++;
          else if (code === 3) disturbances.gaveUp++;
          else {
            disturbances.ended++;
            ended.add(bullmq);
          }
        }
      };

      try {
        const dueAt = new Map<number, number>();
        let orders = 0;
        const add = async (bullmq: BullmqBed, count: number, delayOf: (n: number) => number): Promise<void> => {
          for (let first = 0; first < count; first += CHUNK) {
            const jobs = Array.from({ length: CHUNK }, (_, n) => first + n).map(async (n) => {
              const jobId = `own-${n}`;
              // BullMQ would ignore it.
              const isOwn = n % 10 < 2 && (await bullmq.queue.getJob(jobId)) === undefined;
              const opts = { delay: delayOf(n), removeOnComplete: true, ...(isOwn && { jobId }) };
              return { name: 'timeout', data: { order: orders++ }, opts };
            });
            const added = await bullmq.queue.addBulk(await Promise.all(jobs));
            for (const { data, timestamp, delay } of added) {
              dueAt.set((data as { order: number }).order, timestamp + delay);
            }
          }
        };
        for (const { bullmq, redis } of sides) {
          await bullmq.queue.upsertJobScheduler('yearly', { pattern: '0 0 1 1 *' });
          await bullmq.addFlow();
          for (let n = 0; n < REFUSED; n++) {
            const { id } = await bullmq.add(-1, { delay: HOUR });
            await redis.hset(bullmq.key(id as string), 'data', '{"order":9007199254740993}');
          }
        }
        await Promise.all(
          queues.map(async (bullmq) =>
            // Every second one is due when there is time to see what became of the others.
            add(bullmq, JOBS / 2, (n) => (n % 2 === 0 ? 1 + Math.floor((n / (JOBS / 2)) * SPREAD) : HOUR)),
          ),
        );
        const seed = new SeededRandom().integer(0, 2 ** 31);
        await Promise.all([0, 1].map(async (lane) => disturb(new SeededRandom(seed + lane))));
        expect(disturbances.killed).toBeGreaterThan(0);

        for (const { bullmq, redis } of sides) {
          await add(bullmq, MORE, () => HOUR);
          const soon = String((Date.now() + HOUR / 2) * 4096);
          await eventually(async () => expect(await redis.zcount(bullmq.key('delayed'), '-inf', soon)).toBe(0), LIMIT);
        }
        const lateness = [...handled.handler]
          .map(([order, at]) => at - (dueAt.get(order) ?? Infinity))
          .toSorted((a, b) => a - b);
        expect(lateness[0]).toBeGreaterThanOrEqual(0);
        const figures = { ...disturbances, byWorker: handled.worker.size, byHandler: lateness.length };
        console.log(
          `${JSON.stringify(figures)}: half of these within ${lateness[Math.floor(lateness.length / 2)]} ms, the last ` +
            `${lateness.at(-1)} ms after its time`,
        );
        // An id that both queues have, and perhaps had before, is free once more after each round.
        const left = { id: 0, other: 0 };
        const patient = ['--redis-timeout', '60s'];
        for (let round = 1; round <= 3; round++) {
          left.id = left.other = 0;
          for (const bullmq of queues) {
            const foreseen = printed(await importing(bullmq, [...patient, '--dry-run']));
            const done = printed(await importing(bullmq, patient));
            expect(done).toMatchObject({ topics: foreseen.topics, left: foreseen.left, counted: foreseen.counted });
            const counts = done.left.map(
              ({ reason, count }) => [reason === 'id-taken' ? 'id' : 'other', count] as const,
            );
            for (const [kind, count] of counts) left[kind] += count;
            const all = counts.reduce((sum, [, count]) => sum + count, 0);
            expect([done.moved, done.remaining.delayed]).toEqual([foreseen.counted - all, all]);
          }
          await admin.runNow(TOPIC, { to: Date.now() + 2 * HOUR });
          await eventually(() => expect(handled.worker.size + handled.handler.size).toBe(dueAt.size - left.id), LIMIT);
        }
        expect(left.other).toBe(queues.length * (REFUSED + 2));
        expect(twice).toEqual([]);
        console.log(
          `${handled.worker.size + handled.handler.size} of ${dueAt.size} handled, ${left.id + left.other} left`,
        );
      } finally {
        for (const worker of workers) await worker.close();
        for (const { bullmq, redis } of sides) await bullmq.close(redis);
        redisThere.disconnect();
        await server.stop();
      }
    }),
  LIMIT,
);

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

function printed({ code, stdout, stderr }: Outcome): Printed {
  expect([0, 1], stderr).toContain(code);
  const { left, ...rest } = JSON.parse(stdout) as Printed;
  // They come in the order in which jobs were met.
  return { ...rest, left: left.toSorted((a, b) => a.reason.localeCompare(b.reason)) };
}
