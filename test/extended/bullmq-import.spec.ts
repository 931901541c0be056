import type { ChildProcess } from 'node:child_process';
import { Injectable } from '@nestjs/common';
import type { JobsOptions } from 'bullmq';
import { DelayedHandler, DelayQueueAdmin } from 'nestjs-delay-queue';
import { expect, inject, it } from 'vitest';
import { onOwnRedis } from '../support/app/bed.js';
import { BullmqBed } from '../support/bullmq/bullmq-bed.js';
import { installProgram } from '../support/cli/packed-program.js';
import { eventually } from '../support/waiting.js';

const TOPIC = 'order.timeout';

/** Jobs, and the time over which they fall due, in milliseconds: most while they are moved, or soon after. */
const { jobs: JOBS, spread: SPREAD } = inject('soak')
  ? { jobs: 100_000, spread: 120_000 }
  : { jobs: 10_000, spread: 12_000 };

const CHUNK = 1000;

it('each job is handled once, at its time, although an import is killed, and another stands still while a third one moves all', async () =>
  onOwnRedis(async (own) => {
    const program = await installProgram();
    const dueAt = new Map<number, number>();
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
    const bullmq = new BullmqBed(own.connection, own.prefix);
    const worker = bullmq.work((order) => note('worker', order), 50);
    const importing = async (during: (child: ChildProcess) => Promise<void> = async () => {}) =>
      program.run(['import-bullmq', bullmq.name, TOPIC, '--from-prefix', bullmq.prefix, '--json'], {
        env: { REDIS_URL: `redis://${own.connection.host}:${own.connection.port}`, DELAY_QUEUE_PREFIX: own.prefix },
        during: async ({ child }) => during(child),
        limit: 300_000,
      });
    try {
      const published = async () => (await app.get(DelayQueueAdmin).stats(TOPIC)).counters.published;
      // An import that has come to its end before it could be killed is followed by another one, with more jobs.
      for (let isKilled = false; !isKilled;) {
        const all = dueAt.size + JOBS;
        while (dueAt.size < all) {
          const added = await bullmq.queue.addBulk(Array.from({ length: CHUNK }, (_, n) => jobOf(dueAt.size + n)));
          for (const { data, timestamp, delay } of added) {
            dueAt.set((data as { order: number }).order, timestamp + delay);
          }
        }
        const before = await published();
        const { code, stdout } = await importing(async (child) => {
          while ((await published()) === before) continue;
          child.kill('SIGKILL');
        });
        isKilled = code === -1;
        expect(isKilled ? stdout : '').toBe('');
      }
      const before = await published();
      const done = [0, { left: [], remaining: { delayed: 0 } }];
      const stopped = await importing(async (child) => {
        while ((await published()) === before && child.exitCode === null) continue;
        child.kill('SIGSTOP');
        const { code, stdout } = await importing();
        child.kill('SIGCONT');
        expect([code, JSON.parse(stdout)]).toMatchObject(done);
      });
      expect([stopped.code, JSON.parse(stopped.stdout)]).toMatchObject(done);

      await eventually(() => expect(handled.worker.size + handled.handler.size).toBe(dueAt.size), 600_000);
      expect(twice).toEqual([]);
      const lateness = [...handled.handler]
        .map(([order, at]) => at - (dueAt.get(order) ?? Infinity))
        .toSorted((a, b) => a - b);
      expect(lateness[0]).toBeGreaterThanOrEqual(0);
      console.log(
        `${handled.worker.size} by a worker of BullMQ, ${handled.handler.size} by a handler: half of them within ` +
          `${lateness[Math.floor(lateness.length / 2)]} ms, the last ${lateness.at(-1)} ms after its time`,
      );
    } finally {
      await worker.close();
      await bullmq.close(own.redis);
    }
  }));

/** The last ones are due when the first ones were long ago. */
function jobOf(order: number): { name: string; data: { order: number }; opts: JobsOptions } {
  return {
    name: 'timeout',
    data: { order },
    opts: { delay: 1 + Math.floor(((order % JOBS) / JOBS) * SPREAD), removeOnComplete: true },
  };
}
