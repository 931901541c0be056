import { DelayQueueReceiver } from 'nestjs-delay-queue';
import { describe, expect, it, vi } from 'vitest';
import { OtherDestinationError } from '../../lib/bullmq/bullmq-import.js';
import type { BullmqJob } from '../../lib/bullmq/bullmq-queue.js';
import { freshName } from '../../lib/bullmq/import-goal.js';
import type { Note } from '../../lib/bullmq/taken-note.js';
import { onOwnRedis, useBed } from '../support/app/bed.js';
import {
  CALL,
  HOUR,
  MOMENTS,
  Stopped,
  type Stage,
  TOPIC,
  TOPICS,
  killedAt,
  onStage,
} from '../support/bullmq/import-stage.js';
import { eventually } from '../support/waiting.js';

const bed = useBed();

const statsOf = async ({ admin }: Stage) => admin.stats(TOPIC);

/** What an import leaves with BullMQ: the job of a scheduler, and one whose id the topic has. */
async function addJobsThatStay({ app, bullmq }: Stage): Promise<void> {
  await app.producer.publish(TOPIC, {}, { id: 'taken', delay: HOUR });
  await bullmq.add(-1, { jobId: 'taken', delay: HOUR });
  await bullmq.queue.upsertJobScheduler('yearly', { pattern: '0 0 1 1 *' });
}

/** What is due by now is handled before anybody goes on. */
async function expectDueHandled(stage: Stage): Promise<void> {
  await eventually(async () => expect(await statsOf(stage)).toMatchObject({ due: 0, inFlight: 0 }));
}

/** Expects that all orders were handled once, and nothing is left behind on either side but what has to stay. */
async function expectAllHandledOnce(stage: Stage, orders: number, staying: readonly string[]): Promise<void> {
  const { handled, bullmq, redis } = stage;
  await eventually(() => expect(handled.size).toBe(orders));
  expect(new Set(handled.values())).toEqual(new Set([1]));
  expect(await bullmq.delayed()).toEqual(staying);
  expect(await redis.exists(bullmq.key('moving-to-delay-queue'))).toBe(0);
}

describe('each job is handled once', () => {
  it.each(MOMENTS)('wherever an import is killed, %s the answer to a call', async (moment) =>
    onStage(bed, async (stage) => {
      const { bullmq, importer } = stage;
      await addJobsThatStay(stage);
      const staying = await bullmq.delayed();

      let added = 0;
      let lasts = 1;
      for (let isKilled = true; isKilled; lasts++) {
        for (const delay of [1, 1, 20]) await bullmq.add(added++, { delay });
        isKilled = await importer({ calls: killedAt(lasts, moment) })
          .move(TOPICS, CALL)
          .then(
            () => false,
            () => true,
          );
        await expectDueHandled(stage);
        const foreseen = await importer().count(CALL, true);
        const { topics, left } = await importer().move(TOPICS, CALL);
        expect(reasonsOf(left)).toEqual(['id-taken', 'scheduler']);
        expect({ topics, left: left.toSorted(byReason) }).toEqual({
          topics: foreseen.topics,
          left: foreseen.left.toSorted(byReason),
        });
      }
      expect(lasts).toBeGreaterThan(25);
      await expectAllHandledOnce(stage, added, staying);
      expect(await statsOf(stage)).toMatchObject({ scheduled: 1, due: 0, inFlight: 0, dead: 0 });
    }),
  );

  it.each(MOMENTS.flatMap((moment) => [false, true].map((isKilled) => [moment, isKilled] as const)))(
    'wherever one import stops, %s the answer to a call, while another moves all; and is killed then: %s',
    async (moment, isKilled) =>
      onStage(bed, async (stage) => {
        const { bullmq, importer, admin } = stage;
        await addJobsThatStay(stage);
        const staying = await bullmq.delayed();

        let added = 0;
        for (let [at, isReached] = [1, true]; isReached; at++) {
          for (const delay of [1, 1, 20]) await bullmq.add(added++, { delay });
          await bullmq.add(added++, { jobId: `own-${at}`, delay: 1 });
          const calls = new Stopped(at, moment, isKilled);
          const moving = importer({ calls })
            .move(TOPICS, CALL)
            .catch((error: Error) => error.message);
          isReached = await Promise.race([calls.reached.opened.then(() => true), moving.then(() => false)]);
          await importer().move(TOPICS, CALL);
          await expectDueHandled(stage);
          calls.goOn();
          // The last call has no next one.
          const ended = await moving;
          expect(isKilled || typeof ended !== 'string').toBe(true);
          await expectDueHandled(stage);
        }
        await importer().move(TOPICS, CALL);
        await expectAllHandledOnce(stage, added, staying);
        // One that is killed right after it stood still may leave what it has stored: far off.
        const { messages } = await admin.peek(TOPIC, 'scheduled', { limit: 200 });
        const near = messages.filter(({ at }) => at.getTime() < Date.now() + 9 * 365 * 24 * HOUR);
        expect((isKilled ? near : messages).map(({ id }) => id)).toEqual(['taken']);
      }),
  );

  it('wherever one import stops, and another is killed meanwhile', async () =>
    onStage(bed, async (stage) => {
      const { bullmq, importer } = stage;
      const killed = async (last: number): Promise<boolean> =>
        importer({ calls: killedAt(last, 'after') })
          .move(TOPICS, CALL)
          .then(
            () => false,
            () => true,
          );
      let added = 0;
      for (let [at, isReached] = [1, true]; isReached; at++) {
        for (let [last, isKilled] = [1, true]; isKilled && isReached; last++) {
          await bullmq.add(added++, { delay: 1 });
          const calls = new Stopped(at, 'before', false);
          const moving = importer({ calls }).move(TOPICS, CALL);
          isReached = await Promise.race([calls.reached.opened.then(() => true), moving.then(() => false)]);
          isKilled = await killed(last);
          await expectDueHandled(stage);
          calls.goOn();
          await moving;
          await importer().move(TOPICS, CALL);
          await expectDueHandled(stage);
        }
      }
      await expectAllHandledOnce(stage, added, []);
      expect(await statsOf(stage)).toMatchObject({ scheduled: 0 });
    }));

  it('and waits for its next attempt, wherever an import stops while another moves it', async () =>
    onStage(bed, async ({ app, bullmq, importer, admin }) => {
      const topic = 'order.other';
      const topics = new Set([topic]);
      for (let [at, isReached] = [1, true]; isReached; at++) {
        const id = `own-${at}`;
        await bullmq.add(at, { jobId: id, delay: 1 });
        const calls = new Stopped(at, 'before', false);
        const moving = importer({ topic, calls }).move(topics, CALL);
        isReached = await Promise.race([calls.reached.opened.then(() => true), moving.then(() => false)]);
        await importer({ topic }).move(topics, CALL);
        const [received] = await app.get(DelayQueueReceiver).receive(topic, { wait: '60s' });
        await received?.retry('not yet', HOUR);
        const message = await admin.get(topic, id);
        expect(message).toMatchObject({ state: 'scheduled', failure: { message: 'not yet' } });
        calls.goOn();
        await moving;
        expect(await admin.get(topic, id)).toEqual(message);
      }
    }));

  it('and BullMQ knows nothing of it any more', async () =>
    onStage(bed, async ({ bullmq, importer, redis }) => {
      const job = await bullmq.add(1, { delay: HOUR, deduplication: { id: 'once' } });
      await job.log('added');
      await importer().move(TOPICS, CALL);
      const names = (await redis.keys(bullmq.key('*'))).map((key) => key.slice(bullmq.key('').length)).toSorted();
      expect(names).toEqual(['events', 'id', 'marker', 'meta']);
      const [last] = await redis.xrevrange(bullmq.key('events'), '+', '-', 'COUNT', '1');
      expect(last?.[1]).toEqual(['event', 'removed', 'jobId', job.id, 'prev', 'delayed']);
    }));

  it.each(MOMENTS)('unless it is removed, or removed and added again, while it is moved; %s a call', async (moment) =>
    onStage(bed, async (stage) => {
      const { bullmq, importer, redis, admin } = stage;
      for (let [at, isReached] = [1, true]; isReached; at++) {
        const [removed, again] = [`removed-${at}`, `again-${at}`];
        for (const jobId of [removed, again]) await bullmq.add(0, { jobId, delay: HOUR });
        const calls = new Stopped(at, moment, false);
        const moving = importer({ calls }).move(TOPICS, CALL);
        isReached = await Promise.race([calls.reached.opened.then(() => true), moving.then(() => false)]);
        if (isReached) {
          // As an application does it that cancels in both places.
          for (const id of [removed, again]) await bullmq.queue.remove(id);
          for (const id of [removed, again]) await stage.app.producer.cancel(TOPIC, id);
          await bullmq.add(at, { jobId: again, delay: 2 * HOUR });
        }
        calls.goOn();
        await moving;
        await importer().move(TOPICS, CALL);
        const message = await admin.get(TOPIC, again);
        expect([at, message?.payload]).toEqual([at, { order: isReached ? at : 0 }]);
        expect((await admin.get(TOPIC, removed)) === undefined).toBe(isReached);
      }
      expect(await bullmq.delayed()).toEqual([]);
      expect(await redis.exists(bullmq.key('moving-to-delay-queue'))).toBe(0);
    }),
  );

  it('if a worker of BullMQ gets it first', async () =>
    onStage(bed, async (stage) => {
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

it('what has another note by now is left as it is', async () =>
  onStage(bed, async ({ bullmq, queue }) => {
    await bullmq.add(1, { jobId: 'a', delay: HOUR });
    const take = async (): Promise<BullmqJob & { readonly note: Note }> => {
      const taking = await queue.take(undefined, 'here', freshName());
      return ('jobs' in taking ? taking.jobs[0] : undefined) as BullmqJob & { readonly note: Note };
    };
    const before = await take();
    await queue.giveBack([{ job: before, note: before.note }]);
    const { note } = await take();
    const changes = [{ job: before, note: before.note }];
    const next = { text: before.note.text.replace('taken', 'sent'), state: 'unknown', taking: '' } as const;
    expect(await queue.note(changes.map((change) => ({ ...change, next })))).toEqual(new Map([['a', note.text]]));
    expect([await queue.finish(changes), await queue.giveBack(changes)]).toEqual([new Set(), new Set()]);
    expect((await queue.taken()).notes).toEqual(new Map([['a', note.text]]));
  }));

describe('a job that stays', () => {
  it('waits where it was, and workers are told when it is due', async () =>
    onStage(bed, async (stage) => {
      const { bullmq, importer, redis } = stage;
      await addJobsThatStay(stage);
      await bullmq.addFlow();
      await redis.zadd(bullmq.key('delayed'), 2 ** 52, 'ghost');
      await bullmq.queue.add('timeout', { text: 'x'.repeat(2 ** 20) }, { jobId: 'large', delay: HOUR });
      await bullmq.add(0, { jobId: 'x'.repeat(257), delay: HOUR });
      for (const [id, data] of [
        ['bytes', Buffer.from([0x22, 0xff, 0x22])],
        ['digits', '{"order":9007199254740993}'],
      ] as const) {
        await bullmq.add(0, { jobId: id, delay: HOUR });
        await redis.hset(bullmq.key(id), 'data', data);
      }
      await bullmq.queue.add('other', {}, { jobId: 'other', delay: HOUR });
      const before = await redis.zrange(bullmq.key('delayed'), '0', '-1', 'WITHSCORES');
      await redis.del(bullmq.key('marker'));
      const jobs = importer({ topic: 'order.{name}' });

      const foreseen = await jobs.count(CALL, true);
      expect(foreseen.topics).toEqual(new Map([['order.other', 1]]));
      const { topics, left } = await jobs.move(TOPICS, CALL);
      expect(topics).toEqual(new Map());
      const others = [
        { reason: 'flow', example: 'child', count: 1 },
        { reason: 'id-taken', example: 'taken', count: 1 },
        { reason: 'no-record', example: 'ghost', count: 1 },
        { ...refused('no UTF-8'), example: 'bytes' },
        { ...refused('data.order is 9007199254740993'), example: 'digits' },
        { ...refused('1048576 are allowed'), example: 'large' },
        { ...refused('id must be'), example: 'x'.repeat(257) },
        { reason: 'scheduler', example: expect.stringMatching(/^repeat:yearly:\d+$/) as string, count: 1 },
      ];
      expect(foreseen.left.toSorted(byReason)).toEqual(others);
      expect(left.toSorted(byReason)).toEqual([...others, { reason: 'unknown-topic', example: 'other', count: 1 }]);
      expect(await redis.zrange(bullmq.key('delayed'), '0', '-1', 'WITHSCORES')).toEqual(before);
      expect(await redis.zscore(bullmq.key('marker'), '1')).toBe(String(2 ** 40));
    }));

  it('is the second one of two that become one message', async () =>
    onStage(bed, async ({ bullmq, importer }) => {
      await bullmq.add(1, { jobId: 'same', delay: HOUR });
      await bullmq.add(2, { deduplication: { id: 'same' }, delay: 2 * HOUR });
      const counts = { topics: new Map([[TOPIC, 1]]), left: [{ reason: 'id-taken', count: 1, example: '2' }] };
      expect(await importer().count(CALL, true)).toMatchObject(counts);
      expect(await importer().move(TOPICS, CALL)).toMatchObject(counts);
    }));

  it.each([
    ['', false],
    [', even if it is gone meanwhile', true],
  ])('holds up none behind it%s', async (_, isGone) =>
    onStage(bed, async ({ bullmq, queue, importer, redis }) => {
      const ghosts = Array.from({ length: 700 }, (_each, n) => [String(n), `ghost-${n}`]);
      await redis.zadd(bullmq.key('delayed'), ...ghosts.flat());
      await bullmq.queue.addBulk(Array.from({ length: 300 }, () => ({ name: 'a', data: {}, opts: { delay: HOUR } })));
      expect(await importer().count(CALL, true)).toMatchObject({
        topics: new Map([[TOPIC, 300]]),
        left: [{ count: 700 }],
      });
      const take = queue.take.bind(queue);
      vi.spyOn(queue, 'take').mockImplementation(async (...args) => {
        const jobs = await take(...args);
        if (isGone) await redis.zremrangebyscore(bullmq.key('delayed'), 0, 700);
        return jobs;
      });
      const { topics, left } = await importer().move(TOPICS, CALL);
      expect(topics).toEqual(new Map([[TOPIC, 300]]));
      expect(left).toMatchObject(isGone ? [] : [{ reason: 'no-record', count: 700 }]);
    }),
  );

  it('is not read along with many others that are large, whether or not they were taken', async () =>
    onStage(bed, async ({ bullmq, queue, importer }) => {
      const text = 'x'.repeat(900_000);
      await bullmq.queue.addBulk(
        Array.from({ length: 12 }, () => ({ name: 'a', data: { text }, opts: { delay: HOUR } })),
      );
      await queue.take(undefined, "topic 'order.timeout' here", 'of-another');
      expect((await queue.taken()).notes.size).toBe(5);
      await queue.take(undefined, "topic 'order.timeout' here", 'of-another');
      expect(await queue.look(undefined)).toHaveLength(2);
      expect((await importer().count(CALL, true)).topics).toEqual(new Map([[TOPIC, 12]]));
      expect(await importer().move(TOPICS, CALL)).toMatchObject({ topics: new Map([[TOPIC, 12]]), left: [] });
    }));

  it('is not lost if the Redis of BullMQ is full', async () =>
    onOwnRedis(async (own) =>
      onStage(own, async ({ bullmq, queue, redis }) => {
        await bullmq.add(1, { delay: HOUR });
        await redis.config('SET', 'maxmemory', '1');
        await expect(queue.take(undefined, 'here', 'now')).rejects.toThrow('OOM');
        await redis.config('SET', 'maxmemory', '0');
        expect(await bullmq.delayed()).toEqual(['1']);
      }),
    ));
});

it('an import ends where it began', async () =>
  onStage(bed, async ({ bullmq, queue, importer, admin }) => {
    await bullmq.add(1, { delay: HOUR });
    await queue.take(undefined, "topic 'order.other' here", 'once');
    const other = new OtherDestinationError("topic 'order.other' here");
    await expect(importer().move(TOPICS, CALL)).rejects.toEqual(other);
    await expect(importer().count(CALL, true)).rejects.toEqual(other);

    await importer({ topic: 'order.other' }).move(new Set(['order.other']), CALL);
    await bullmq.add(2, { delay: HOUR });
    await importer().move(TOPICS, CALL);
    expect(await admin.stats('order.other')).toMatchObject({ scheduled: 1 });
    expect(await admin.stats(TOPIC)).toMatchObject({ scheduled: 1 });
  }));

function refused(refusal: string): object {
  return { reason: 'refused', count: 1, refusal: expect.stringContaining(refusal) as string };
}

function reasonsOf(left: readonly { readonly reason: string }[]): string[] {
  return left.map(({ reason }) => reason).toSorted();
}

function byReason(
  a: { readonly reason: string; readonly example: string },
  b: { readonly reason: string; readonly example: string },
): number {
  return a.reason.localeCompare(b.reason) || a.example.localeCompare(b.example);
}
