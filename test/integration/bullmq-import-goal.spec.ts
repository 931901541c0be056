import { describe, expect, it } from 'vitest';
import type { BullmqQueue } from '../../lib/bullmq/bullmq-queue.js';
import { onOwnRedis, useBed } from '../support/app/bed.js';
import { BullmqBed } from '../support/bullmq/bullmq-bed.js';
import { CALL, HOUR, type Stage, TOPIC, TOPICS, killedAt, onStage } from '../support/bullmq/import-stage.js';
import { eventually } from '../support/waiting.js';

const bed = useBed();

/** Kills imports, each a call later, until the notes of all jobs say this. */
async function killedOnce(state: 'stored' | 'sent', queue: BullmqQueue, importer: Stage['importer']): Promise<void> {
  for (let calls = 1; ; calls++) {
    const ended = importer({ calls: killedAt(calls, 'after'), queue }).move(TOPICS, CALL);
    await expect(ended).rejects.toThrow('killed');
    const notes = [...(await queue.taken()).notes.values()];
    if (notes.length > 0 && notes.every((note) => note.startsWith(`${state} `))) return;
  }
}

/** An application on the first database of a Redis of its own, and BullMQ on the second. */
async function besides(
  play: (stage: Stage, other: BullmqBed, emptyGoal: () => Promise<void>) => Promise<void>,
): Promise<void> {
  await onOwnRedis(async (own) =>
    onStage(own, async (stage) => {
      const other = new BullmqBed({ ...own.connection, db: 1 }, stage.bullmq.prefix, stage.bullmq.name);
      try {
        await play(stage, other, async () => {
          await own.redis.flushdb();
          await stage.app.producer.publish(TOPIC, { order: -1 }, { id: 'since' });
        });
      } finally {
        await other.queue.close();
      }
    }),
  );
}

describe('a message is told from others with its name', () => {
  it('if another database has a queue with the same name', async () =>
    besides(async ({ bullmq, importer, admin, seen }, other) => {
      for (const [order, queue] of [bullmq, other].entries()) {
        // Each counts its jobs from 1, and has made one at another time.
        await queue.add(order, { delay: (1 + order) * HOUR, timestamp: Date.now() + order });
        await queue.add(order, { delay: (1 + order) * HOUR, jobId: 'own' });
      }
      expect(await importer().move(TOPICS, CALL)).toMatchObject({ topics: new Map([[TOPIC, 2]]), left: [] });
      const moved = await importer({ queue: await seen(other) }).move(TOPICS, CALL);
      expect(moved).toMatchObject({ topics: new Map([[TOPIC, 1]]), left: [{ reason: 'id-taken', example: 'own' }] });
      expect(await other.delayed()).toEqual(['own']);
      const { messages } = await admin.peek(TOPIC, 'scheduled');
      expect(messages.map(({ payload }) => payload)).toEqual([{ order: 0 }, { order: 0 }, { order: 1 }]);
    }));

  it('also if it has ended, and its id comes again', async () =>
    onStage(
      bed,
      async ({ bullmq, importer, handled, admin }) => {
        await bullmq.add(1, { jobId: 'again', delay: 1 });
        await importer().move(TOPICS, CALL);
        await eventually(() => expect(handled.get(1)).toBe(1));
        await bullmq.add(2, { jobId: 'again', delay: HOUR });
        await eventually(async () => expect(await admin.get(TOPIC, 'again')).toMatchObject({ state: 'finished' }));

        const foreseen = await importer().count(CALL, true);
        const { topics, left } = await importer().move(TOPICS, CALL);
        expect({ topics, left }).toEqual({ topics: foreseen.topics, left: foreseen.left });
        expect(left).toEqual([{ reason: 'id-finished', example: 'again', count: 1 }]);
        expect(await bullmq.delayed()).toEqual(['again']);
      },
      { finished: { maxAge: '1h' } },
    ));
});

describe('a goal that has lost its data', () => {
  it('gets the messages again that nobody can have handled', async () =>
    besides(async (stage, other, emptyGoal) => {
      const queue = await stage.seen(other);
      for (const order of [1, 2]) await other.add(order, { delay: HOUR });
      await killedOnce('stored', queue, stage.importer);
      await emptyGoal();
      expect((await stage.importer({ queue }).count(CALL, true)).topics).toEqual(new Map([[TOPIC, 2]]));
      expect(await stage.importer({ queue }).move(TOPICS, CALL)).toMatchObject({
        topics: new Map([[TOPIC, 2]]),
        left: [],
      });
      expect(await stage.admin.stats(TOPIC)).toMatchObject({ scheduled: 2 });
    }));

  it('leaves the jobs whose messages may have been handled, and says so', async () =>
    besides(async (stage, other, emptyGoal) => {
      const queue = await stage.seen(other);
      await other.add(1, { delay: HOUR });
      await killedOnce('sent', queue, stage.importer);
      await emptyGoal();
      const left = [{ reason: 'unverified', count: 1, example: '1' }];
      expect(await stage.importer({ queue }).count(CALL, true)).toMatchObject({ topics: new Map(), left });
      expect(await stage.importer({ queue }).move(TOPICS, CALL)).toMatchObject({ topics: new Map(), left });
      expect((await queue.taken()).notes.size).toBe(1);
      expect(await other.queue.getJob('1')).toMatchObject({ data: { order: 1 } });
    }));
});
