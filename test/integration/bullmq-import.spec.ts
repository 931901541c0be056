import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { DelayedHandler, DelayQueueAdmin, DelayQueueProducer, type PublishedMessage } from 'nestjs-delay-queue';
import { describe, expect, it, vi } from 'vitest';
import { loadIoRedis } from '../../lib/broker/redis/connection/redis-clients.js';
import { RedisConnection } from '../../lib/broker/redis/connection/redis-connection.js';
import { BullmqImport, type BullmqImportOptions, OtherDestinationError } from '../../lib/bullmq/bullmq-import.js';
import type { BullmqQueue } from '../../lib/bullmq/bullmq-queue.js';
import { type Bed, type RunningApp, onOwnRedis, useBed } from '../support/app/bed.js';
import { BullmqBed } from '../support/bullmq/bullmq-bed.js';
import { eventually, Gate } from '../support/waiting.js';

const bed = useBed();

const TOPIC = 'order.timeout';
const TOPICS = new Set([TOPIC]);
const HOUR = 3_600_000;
const SILENT = { log() {}, warn() {}, error() {} };
const CALL = { signal: new AbortController().signal, onProgress() {} };

interface Stage {
  readonly app: RunningApp;
  readonly bullmq: BullmqBed;
  readonly queue: BullmqQueue;
  readonly redis: Redis;
  /** How often each order was handled, by whomever. */
  readonly handled: Map<number, number>;
  readonly importer: (change?: Partial<BullmqImportOptions>) => BullmqImport;
}

/** An application that handles the topic, and a queue of BullMQ beside it. */
async function onStage(play: (stage: Stage) => Promise<void>, own: Bed = bed): Promise<void> {
  const handled = new Map<number, number>();

  @Injectable()
  class Orders {
    @DelayedHandler(TOPIC)
    onTimeout({ order }: { order: number }): void {
      handled.set(order, (handled.get(order) ?? 0) + 1);
    }
  }

  const app = await own.start({ providers: [Orders] });
  const connection = new RedisConnection(await loadIoRedis(), own.connection, SILENT, 5000);
  const bullmq = new BullmqBed(own.connection, own.prefix);
  const queue = bullmq.seenThrough(connection);
  const fixed = { queue, producer: app.get(DelayQueueProducer), admin: app.get(DelayQueueAdmin), topic: TOPIC };
  const importer = (change: Partial<BullmqImportOptions> = {}) =>
    new BullmqImport({ ...fixed, place: 'here', now: Date.now, ...change });
  try {
    await connection.connect();
    await play({ app, bullmq, queue, redis: own.redis, handled, importer });
  } finally {
    connection.close();
    await bullmq.close(own.redis);
  }
}

const statsOf = async ({ app }: Stage) => app.get(DelayQueueAdmin).stats(TOPIC);

/** A producer with something around its publishes. */
function publishingBy(
  producer: DelayQueueProducer,
  around: (publish: () => Promise<PublishedMessage>) => Promise<PublishedMessage>,
): BullmqImportOptions['producer'] {
  return {
    publish: (...args: Parameters<DelayQueueProducer['publish']>) => around(() => producer.publish(...args)),
    reschedule: producer.reschedule.bind(producer),
    cancel: producer.cancel.bind(producer),
  } as BullmqImportOptions['producer'];
}

/** Ends what it wraps at one of the calls of them all, as a process that is killed: before the call, or before its answer. */
class Reaper {
  #calls = 0;
  readonly #last: number;
  readonly #moment: 'before' | 'after';

  constructor(last: number, moment: 'before' | 'after') {
    this.#last = last;
    this.#moment = moment;
  }

  wrap<T extends object>(target: T): T {
    return new Proxy(target, {
      get: (_, name) => {
        const method: unknown = Reflect.get(target, name);
        return async (...args: readonly unknown[]) => {
          const call = ++this.#calls;
          const isKilled = call > this.#last || (call === this.#last && this.#moment === 'before');
          if (isKilled) throw new Error('killed');
          const answer: unknown = await Reflect.apply(method as () => Promise<unknown>, target, args);
          if (call === this.#last) throw new Error('killed');
          return answer;
        };
      },
    });
  }
}

/** What an import leaves with BullMQ: the job of a scheduler, and one whose id the topic has. */
async function addJobsThatStay({ app, bullmq }: Stage): Promise<void> {
  await app.producer.publish(TOPIC, {}, { id: 'taken', delay: HOUR });
  await bullmq.add(-1, { jobId: 'taken', delay: HOUR });
  await bullmq.queue.upsertJobScheduler('yearly', { pattern: '0 0 1 1 *' });
}

describe('each job is handled once', () => {
  it.each(['before', 'after'] as const)('wherever an import is killed, %s the answer to a call', async (moment) =>
    onStage(async (stage) => {
      const { bullmq, handled, importer, queue, app } = stage;
      const producer = app.get(DelayQueueProducer);
      const admin = app.get(DelayQueueAdmin);
      await addJobsThatStay(stage);
      const staying = await bullmq.delayed();

      let added = 0;
      let lasts = 1;
      for (let isKilled = true; isKilled; lasts++) {
        for (const delay of [1, 1, 20]) await bullmq.add(added++, { delay });
        const reaper = new Reaper(lasts, moment);
        const mortal = importer({
          queue: reaper.wrap(queue),
          producer: reaper.wrap(producer),
          admin: reaper.wrap(admin),
        });
        isKilled = await mortal.move(TOPICS, CALL).then(
          () => false,
          () => true,
        );
        // What is due by now is handled before anybody goes on.
        await eventually(async () => expect(await statsOf(stage)).toMatchObject({ due: 0, inFlight: 0 }));
        const { left } = await importer().move(TOPICS, CALL);
        expect(left.map(({ reason, count }) => ({ reason, count })).toSorted(byReason)).toEqual([
          { reason: 'id-taken', count: 1 },
          { reason: 'scheduler', count: 1 },
        ]);
      }
      expect(lasts).toBeGreaterThan(12);

      await eventually(() => expect(handled.size).toBe(added));
      expect(new Set(handled.values())).toEqual(new Set([1]));
      // Nothing is left behind on either side.
      expect(await statsOf(stage)).toMatchObject({ scheduled: 1, due: 0, inFlight: 0, dead: 0 });
      expect(await bullmq.delayed()).toEqual(staying);
      expect(await stage.redis.exists(bullmq.key('moving-to-delay-queue'))).toBe(0);
    }),
  );

  it('if another import has moved it while this one held still', async () =>
    onStage(async (stage) => {
      const { bullmq, handled, importer, app } = stage;
      await bullmq.add(1, { delay: 1 });
      const waiting = await bullmq.add(2, { delay: HOUR });
      await sleep(5);
      const [holdsStill, goesOn] = [new Gate(), new Gate()];
      const producer = app.get(DelayQueueProducer);
      const slow = publishingBy(producer, async (publish) => {
        holdsStill.open();
        await goesOn.opened;
        return publish();
      });
      const moving = importer({ producer: slow }).move(TOPICS, CALL);
      await holdsStill.opened;
      expect((await importer().move(TOPICS, CALL)).topics).toEqual(new Map([[TOPIC, 2]]));
      await eventually(() => expect(handled).toEqual(new Map([[1, 1]])));
      goesOn.open();

      expect((await moving).topics).toEqual(new Map());
      // The one that was handled was published again, and cancelled; the other one was there.
      expect(await statsOf(stage)).toMatchObject({ scheduled: 1, due: 0, counters: { published: 3, cancelled: 1 } });
      expect(await app.get(DelayQueueAdmin).get(TOPIC, bullmq.key(waiting.id as string))).toMatchObject({
        at: new Date(waiting.timestamp + HOUR),
      });
    }));

  it('and BullMQ knows nothing of it any more', async () =>
    onStage(async ({ bullmq, importer, redis }) => {
      const job = await bullmq.add(1, { delay: HOUR, deduplication: { id: 'once' } });
      await job.log('added');
      await importer().move(TOPICS, CALL);
      const names = (await redis.keys(bullmq.key('*'))).map((key) => key.slice(bullmq.key('').length)).toSorted();
      expect(names).toEqual(['events', 'id', 'marker', 'meta']);
      const [last] = await redis.xrevrange(bullmq.key('events'), '+', '-', 'COUNT', '1');
      expect(last?.[1]).toEqual(['event', 'removed', 'jobId', job.id, 'prev', 'delayed']);
    }));

  it('unless it is removed while it is moved', async () =>
    onStage(async (stage) => {
      const { bullmq, importer, queue, app, redis } = stage;
      const producer = app.get(DelayQueueProducer);
      for (const jobId of ['a', 'b', 'c', 'd']) await bullmq.add(0, { jobId, delay: HOUR });
      // One whose message was stored when an import was killed, one that was only taken, and two that it goes on with.
      await queue.take(0, "topic 'order.timeout' here");
      await queue.noteStored(['a']);
      for (const id of ['a', 'b']) await bullmq.queue.remove(id);
      const slow = publishingBy(producer, async (publish) => {
        const published = await publish();
        if (published.id === 'c') await bullmq.queue.remove('c');
        return published;
      });
      const { topics } = await importer({ producer: slow }).move(TOPICS, CALL);

      expect(topics).toEqual(new Map([[TOPIC, 1]]));
      expect(await statsOf(stage)).toMatchObject({ scheduled: 1, counters: { published: 2, cancelled: 1 } });
      expect(await bullmq.delayed()).toEqual([]);
      expect(await redis.exists(bullmq.key('moving-to-delay-queue'))).toBe(0);
    }));

  it('if a worker of BullMQ gets it first', async () =>
    onStage(async (stage) => {
      const { bullmq, handled, importer } = stage;
      for (let order = 0; order < 50; order++) await bullmq.add(order, { delay: order < 25 ? 1 : 200 });
      const byWorker: number[] = [];
      const worker = bullmq.work((order) => byWorker.push(order));
      try {
        await eventually(() => expect(byWorker.length).toBeGreaterThan(0));
        await importer().move(TOPICS, CALL);
        await eventually(() => expect(byWorker.length + handled.size).toBe(50));
        expect(new Set([...byWorker, ...handled.keys()]).size).toBe(50);
      } finally {
        await worker.close();
      }
    }));
});

describe('a job that stays', () => {
  it('waits where it was, and workers are told when it is due', async () =>
    onStage(async (stage) => {
      const { bullmq, importer, redis } = stage;
      await addJobsThatStay(stage);
      await bullmq.addFlow();
      await redis.zadd(bullmq.key('delayed'), 2 ** 52, 'ghost');
      await bullmq.queue.add('timeout', { text: 'x'.repeat(2 ** 20) }, { jobId: 'large', delay: HOUR });
      await bullmq.queue.add('other', {}, { jobId: 'other', delay: HOUR });
      const before = await redis.zrange(bullmq.key('delayed'), '0', '-1', 'WITHSCORES');
      await redis.del(bullmq.key('marker'));
      const jobs = importer({ topic: 'order.{name}' });

      expect(await jobs.count(CALL)).toMatchObject({
        topics: new Map([
          [TOPIC, 2],
          ['order.other', 1],
        ]),
        left: expect.toSatisfy((left: readonly unknown[]) => left.length === 3) as unknown,
      });
      const { topics, left } = await jobs.move(TOPICS, CALL);
      expect(topics).toEqual(new Map());
      expect(left.toSorted(byReason)).toEqual([
        { reason: 'flow', example: 'child', count: 1 },
        { reason: 'id-taken', example: 'taken', count: 1 },
        { reason: 'no-record', example: 'ghost', count: 1 },
        {
          reason: 'refused',
          example: 'large',
          count: 1,
          refusal: expect.stringContaining('1048576 are allowed') as string,
        },
        { reason: 'scheduler', example: expect.stringMatching(/^repeat:yearly:\d+$/) as string, count: 1 },
        { reason: 'unknown-topic', example: 'other', count: 1 },
      ]);
      expect(await redis.zrange(bullmq.key('delayed'), '0', '-1', 'WITHSCORES')).toEqual(before);
      expect(await redis.zscore(bullmq.key('marker'), '1')).toBe(String(2 ** 40));
    }));

  it.each([
    ['', false],
    [', even if it is gone meanwhile', true],
  ])('holds up none behind it%s', async (_, isGone) =>
    onStage(async ({ bullmq, queue, importer, redis }) => {
      const ghosts = Array.from({ length: 700 }, (_each, n) => [String(n), `ghost-${n}`]);
      await redis.zadd(bullmq.key('delayed'), ...ghosts.flat());
      await bullmq.queue.addBulk(Array.from({ length: 700 }, () => ({ name: 'a', data: {}, opts: { delay: HOUR } })));
      expect(await importer().count(CALL)).toMatchObject({ topics: new Map([[TOPIC, 700]]), left: [{ count: 700 }] });
      const take = queue.take.bind(queue);
      vi.spyOn(queue, 'take').mockImplementation(async (...args) => {
        const jobs = await take(...args);
        if (isGone) await redis.zremrangebyscore(bullmq.key('delayed'), 0, 700);
        return jobs;
      });
      const { topics, left } = await importer().move(TOPICS, CALL);
      expect(topics).toEqual(new Map([[TOPIC, 700]]));
      expect(left).toMatchObject(isGone ? [] : [{ reason: 'no-record', count: 700 }]);
    }),
  );

  it('is not read along with many others that are large', async () =>
    onStage(async ({ bullmq, queue, importer }) => {
      const text = 'x'.repeat(900_000);
      await bullmq.queue.addBulk(
        Array.from({ length: 8 }, () => ({ name: 'a', data: { text }, opts: { delay: HOUR } })),
      );
      expect(await queue.look(0)).toHaveLength(5);
      expect(await importer().move(TOPICS, CALL)).toMatchObject({ topics: new Map([[TOPIC, 8]]), left: [] });
    }));

  it('is not lost if the Redis of BullMQ is full', async () =>
    onOwnRedis(async (own) =>
      onStage(async ({ bullmq, queue, redis }) => {
        await bullmq.add(1, { delay: HOUR });
        await redis.config('SET', 'maxmemory', '1');
        await expect(queue.take(0, 'here')).rejects.toThrow('OOM');
        await redis.config('SET', 'maxmemory', '0');
        expect(await bullmq.delayed()).toEqual(['1']);
      }, own),
    ));
});

it('what another import has stored is not given back', async () =>
  onStage(async ({ bullmq, queue, importer, app }) => {
    await bullmq.add(1, { jobId: 'a', delay: HOUR });
    await queue.take(0, "topic 'order.timeout' here");
    await queue.noteStored(['a']);
    await queue.giveBack(['a']);
    expect(await bullmq.delayed()).toEqual([]);
    expect((await importer().move(TOPICS, CALL)).topics).toEqual(new Map([[TOPIC, 1]]));
    expect(await app.get(DelayQueueAdmin).stats(TOPIC)).toMatchObject({ scheduled: 0 });
  }));

it('an import ends where it began', async () =>
  onStage(async ({ bullmq, queue, importer, app }) => {
    await bullmq.add(1, { delay: HOUR });
    await queue.take(0, "topic 'order.other' here");
    await expect(importer().move(TOPICS, CALL)).rejects.toEqual(new OtherDestinationError("topic 'order.other' here"));

    const [other, { topics }] = [new Set(['order.other']), await importer().count(CALL)];
    expect(topics).toEqual(new Map([[TOPIC, 1]]));
    await importer({ topic: 'order.other' }).move(other, CALL);
    await bullmq.add(2, { delay: HOUR });
    await importer().move(TOPICS, CALL);
    expect(await app.get(DelayQueueAdmin).stats('order.other')).toMatchObject({ scheduled: 1 });
    expect(await app.get(DelayQueueAdmin).stats(TOPIC)).toMatchObject({ scheduled: 1 });
  }));

function byReason(a: { readonly reason: string }, b: { readonly reason: string }): number {
  return a.reason.localeCompare(b.reason);
}
