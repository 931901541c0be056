import { DelayQueueAdmin } from 'nestjs-delay-queue';
import type { Fleet, FleetProcess } from 'nestjs-delay-queue/admin';
import { describe, expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { Jobs } from '../support/app/jobs.js';
import { VERSION } from '../support/internals.js';
import { Gate, eventually } from '../support/waiting.js';

const bed = useBed();

const PARTITIONS = 4;

/** Short, so that what a process tells with its heartbeats is soon there. */
const OPTIONS = {
  defaults: { partitions: PARTITIONS, attempts: 2, backoff: { type: 'fixed' as const, delay: 10 } },
  consumer: { concurrency: 3, maxIdleWait: 200 },
};

/** The sums of what was done for a topic. */
function workOf({ topics }: Fleet, name: string) {
  const minutes = topics.find(({ topic }) => topic === name)?.minutes ?? [];
  const sum = (field: 'delivered' | 'acked' | 'retried' | 'dead'): number =>
    minutes.reduce((total, minute) => total + minute[field], 0);
  return { delivered: sum('delivered'), acked: sum('acked'), retried: sum('retried'), dead: sum('dead') };
}

/** One of two processes of the same age that have shared the partitions. */
async function expectHalf(process: FleetProcess, startedAt: number): Promise<void> {
  expect(process).toMatchObject({ version: VERSION, concurrency: 3, waiting: 0, topics: [{ topic: 'jobs' }] });
  expect(Number(process.since)).toBeLessThan(startedAt);
  expect(Number(process.renewedAt)).toBeGreaterThan(Number(process.since));
  expect(Math.abs(process.clockOffset ?? Infinity)).toBeLessThan(1000);
  const partitions = process.topics.flatMap((topic) => topic.partitions);
  expect(partitions).toHaveLength(PARTITIONS / 2);
  for (const index of partitions) expect(await bed.partition('jobs', index).owner()).toBe(process.process);
}

/** What both have done together, and when. */
function expectFigures({ at, processes, topics: [jobs] }: Fleet): void {
  expect(jobs?.minutes).toHaveLength(5);
  const { p50 = NaN, p99 = NaN, max = NaN } = jobs?.minutes.findLast(({ lateness }) => lateness)?.lateness ?? {};
  expect([p50, p99, max]).toEqual([p50, p99, max].toSorted((a, b) => a - b));
  const last = jobs?.minutes.at(-1);
  expect(Number(at) - Number(last?.at)).toBeCloseTo(Number(last?.seconds) * 1000, -1);
  const done = processes.flatMap(({ minutes }) => minutes.map(({ delivered }) => delivered));
  expect(done.reduce((sum, delivered) => sum + delivered, 0)).toBe(7);
}

describe('admin.fleet()', () => {
  it('shows to a process that only publishes who handles what, how busy each is, and what was done', async () => {
    const workers = [
      await bed.start({ providers: [Jobs], options: OPTIONS }),
      await bed.start({ providers: [Jobs], options: OPTIONS }),
    ];
    const other = await bed.start({ options: { ...OPTIONS, consumer: false } });
    const admin = other.get(DelayQueueAdmin);
    const startedAt = await bed.time();
    for (const worker of workers) {
      worker.get(Jobs).respond = (payload) => {
        if (payload === 'fail') throw new Error('no');
      };
    }
    const payloads = ['a', 'b', 'c', 'fail', 'fail'];
    for (const [i, payload] of payloads.entries()) await other.producer.publish('jobs', payload, { id: `m${i}` });

    const fleet = await eventually(async () => {
      const seen = await admin.fleet();
      expect(workOf(seen, 'jobs')).toEqual({ delivered: 7, acked: 3, retried: 2, dead: 2 });
      expect(seen.processes.flatMap(({ topics }) => topics.flatMap(({ partitions }) => partitions))).toHaveLength(4);
      expect(seen.processes.map(({ busy }) => busy)).toEqual([0, 0]);
      return seen;
    });

    expect(fleet.processes.map(({ process }) => process)).toEqual((await bed.sessions()).toSorted());
    for (const process of fleet.processes) await expectHalf(process, startedAt);
    expectFigures(fleet);
  });

  it('shows that a process is full, and that partitions wait for it', async () => {
    const worker = await bed.start({
      providers: [Jobs],
      options: { ...OPTIONS, consumer: { ...OPTIONS.consumer, concurrency: 1 } },
    });
    const end = new Gate();
    worker.get(Jobs).respond = async () => end.opened;
    // Fixed ids, so that each partition has more than the one message that is handled.
    for (let i = 0; i < 20; i++) await worker.producer.publish('jobs', i, { id: String(i) });
    const admin = worker.get(DelayQueueAdmin);
    const busy = await eventually(async () => {
      const [process] = (await admin.fleet()).processes;
      expect(process).toMatchObject({ concurrency: 1, busy: 1, waiting: PARTITIONS });
      return process;
    });
    expect(busy?.topics).toEqual([{ topic: 'jobs', partitions: [0, 1, 2, 3] }]);
    end.open();
  });

  it('keeps what a process has done that has gone, and lists it no more', async () => {
    const worker = await bed.start({ providers: [Jobs], options: OPTIONS });
    const other = await bed.start({ options: { ...OPTIONS, consumer: false } });
    await worker.producer.publish('jobs', 'a');
    await worker.events.acked.first();
    await worker.close();
    const fleet = await other.get(DelayQueueAdmin).fleet({ topic: 'jobs', minutes: 2 });

    expect(fleet.processes).toEqual([]);
    expect(workOf(fleet, 'jobs')).toMatchObject({ delivered: 1, acked: 1 });
    expect((await other.get(DelayQueueAdmin).fleet({ topic: 'others' })).topics).toEqual([]);
    expect((await other.get(DelayQueueAdmin).fleet({ minutes: 0 })).topics).toEqual([]);
  });

  it.each([{ minutes: -1 }, { minutes: 16 }, { topic: 'a b' }, { topics: [] } as object])(
    'refuses %j',
    async (options) => {
      const app = await bed.start({ options: { consumer: false } });

      await expect(app.get(DelayQueueAdmin).fleet(options)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    },
  );
});
