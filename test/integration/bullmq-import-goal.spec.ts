import { DelayQueueReceiver, type ReceivedMessage } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import type { LeftReason } from '../../tools/import-bullmq/import-counts.js';
import { onOwnRedis, useBed } from '../support/app/bed.js';
import { BullmqBed } from '../support/bullmq/bullmq-bed.js';
import {
  CALL,
  HOUR,
  MOMENTS,
  type Stage,
  TOPIC,
  TOPICS,
  endsKilled,
  killedAt,
  onStage,
} from '../support/bullmq/import-stage.js';
import { startRedis } from '../support/servers/redis-server.js';

const bed = useBed();

/** An application on the first database of a Redis of its own, and a queue of the same name elsewhere. */
async function besides(
  elsewhere: 'database' | 'server',
  play: (stage: Stage, other: BullmqBed, emptyGoal: () => Promise<void>) => Promise<void>,
): Promise<void> {
  await onOwnRedis(async (own) =>
    onStage(own, async (stage) => {
      const server = elsewhere === 'server' ? await startRedis() : undefined;
      const connection = server ? { host: '127.0.0.1', port: server.port } : { ...own.connection, db: 1 };
      const other = new BullmqBed(connection, stage.bullmq.prefix, stage.bullmq.name);
      try {
        await play(stage, other, async () => {
          await own.redis.flushdb();
          await stage.app.producer.publish(TOPIC, { order: -1 }, { id: 'since', delay: HOUR });
        });
      } finally {
        await other.queue.close();
        await server?.stop();
      }
    }),
  );
}

describe('a message is told from others with its name', () => {
  it.each(['database', 'server'] as const)('if another %s has a queue with the same name', async (elsewhere) =>
    besides(elsewhere, async ({ bullmq, importer, admin, seen }, other) => {
      const now = Date.now();
      for (const [order, queue] of [bullmq, other].entries()) {
        const delay = (1 + order) * HOUR;
        // Each counts its jobs from 1, and has made the first at another time.
        await queue.add(order, { delay, timestamp: now + order });
        await queue.add(order, { delay, timestamp: now });
        await queue.add(order, { delay, jobId: 'own' });
      }
      expect(await importer().move(TOPICS, CALL)).toMatchObject({ topics: new Map([[TOPIC, 3]]), left: [] });
      const moved = await importer({ queue: await seen(other) }).move(TOPICS, CALL);
      expect(moved).toMatchObject({ topics: new Map([[TOPIC, 1]]), left: [{ reason: 'id-taken', count: 2 }] });
      expect(await other.delayed()).toEqual(['2', 'own']);
      const { messages } = await admin.peek(TOPIC, 'scheduled');
      expect(messages.map(({ payload }) => payload)).toEqual([0, 0, 0, 1].map((order) => ({ order })));
    }),
  );

  it.each<[what: string, LeftReason, (received: ReceivedMessage) => Promise<unknown>]>([
    ['is in flight', 'id-taken', async () => {}],
    ['waits again', 'id-taken', async (received) => received.retry('not yet', HOUR)],
    ['is a dead letter', 'id-dead', async (received) => received.dead('never')],
    ['has ended, and is kept', 'id-finished', async (received) => received.ack()],
  ])('also if it %s', async (_, reason, settle) =>
    onStage(
      bed,
      async ({ app, bullmq, importer }) => {
        const topic = 'order.other';
        await app.producer.publish(topic, {}, { id: 'again' });
        const [received] = await app.get(DelayQueueReceiver).receive(topic, { wait: '20s' });
        await settle(received as ReceivedMessage);
        await bullmq.add(1, { jobId: 'again', delay: HOUR });

        const left = { topics: new Map(), left: [{ reason, example: 'again', count: 1 }] };
        expect(await importer({ topic }).count(CALL, true)).toMatchObject(left);
        expect(await importer({ topic }).move(new Set([topic]), CALL)).toMatchObject(left);
        expect(await bullmq.delayed()).toEqual(['again']);
      },
      { finished: { maxAge: '1h' } },
    ),
  );
});

describe('of a goal that has lost its data', () => {
  it.each(MOMENTS)(
    'all is moved again but what may have been handled; wherever an import was killed, %s a call',
    async (moment) =>
      besides('database', async ({ admin, importer, seen }, other, emptyGoal) => {
        const queue = await seen(other);
        const met = new Set<string | undefined>();
        for (let [at, isKilled] = [1, true]; isKilled; at++) {
          for (const order of [1, 2]) await other.add(order, { delay: HOUR });
          isKilled = await endsKilled(importer({ calls: killedAt(at, moment), queue }).move(TOPICS, CALL));
          const { notes } = await queue.taken();
          for (const note of notes.values()) met.add(note.split(' ')[0]);
          const doubtful = [...notes].filter(([, note]) => note.startsWith('sent '));
          const again = notes.size + (await other.delayed()).length - doubtful.length;
          await emptyGoal();

          const topics = new Map(again > 0 ? [[TOPIC, again]] : []);
          const left = doubtful.length > 0 ? [{ reason: 'unverified', count: doubtful.length }] : [];
          expect(await importer({ queue }).count(CALL, true)).toMatchObject({ topics, left });
          expect(await importer({ queue }).move(TOPICS, CALL)).toMatchObject({ topics, left });
          expect(await admin.stats(TOPIC)).toMatchObject({ scheduled: 1 + again });
          expect([...(await queue.taken()).notes]).toEqual(doubtful);
          const given = await queue.giveBack(doubtful.map(([id, text]) => ({ job: { id }, note: { text } })));
          expect((await other.delayed()).length).toBe(given.size);
        }
        expect(met).toEqual(new Set(['taken', 'stored', 'sent']));
      }),
  );

  it('nothing is moved that another version has noted', async () =>
    onStage(bed, async ({ bullmq, importer, redis, queue }) => {
      await bullmq.add(1, { jobId: 'a', delay: HOUR });
      await queue.take(undefined, "topic 'order.timeout' here", 'once');
      const note = `later 1 once`;
      await redis.hset(bullmq.key('moving-to-delay-queue'), 'a', note);
      const left = { topics: new Map(), left: [{ reason: 'unverified', example: 'a', count: 1 }] };
      expect(await importer().count(CALL, true)).toMatchObject(left);
      expect(await importer().move(TOPICS, CALL)).toMatchObject(left);
      expect((await queue.taken()).notes).toEqual(new Map([['a', note]]));
    }));
});
