import { DelayQueueReceiver } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { OtherDestinationError } from '../../tools/import-bullmq/bullmq-import.js';
import type { BullmqJob } from '../../tools/import-bullmq/bullmq-queue.js';
import { freshName } from '../../tools/import-bullmq/import-goal.js';
import type { Note } from '../../tools/import-bullmq/taken-note.js';
import { useBed } from '../support/app/bed.js';
import {
  CALL,
  HOUR,
  MOMENTS,
  Stopped,
  type Stage,
  TOPIC,
  TOPICS,
  addJobsThatStay,
  byReason,
  endsKilled,
  killedAt,
  onStage,
} from '../support/bullmq/import-stage.js';
import { eventually } from '../support/waiting.js';

const bed = useBed();

const statsOf = async ({ admin }: Stage) => admin.stats(TOPIC);

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
        isKilled = await endsKilled(importer({ calls: killedAt(lasts, moment) }).move(TOPICS, CALL));
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
          isReached = await calls.isReachedBy(moving);
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
      let added = 0;
      for (let [at, isReached] = [1, true]; isReached; at++) {
        for (let [last, isKilled] = [1, true]; isKilled && isReached; last++) {
          await bullmq.add(added++, { delay: 1 });
          const calls = new Stopped(at, 'before', false);
          const moving = importer({ calls }).move(TOPICS, CALL);
          isReached = await calls.isReachedBy(moving);
          isKilled = await endsKilled(importer({ calls: killedAt(last, 'after') }).move(TOPICS, CALL));
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
        isReached = await calls.isReachedBy(moving);
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
        isReached = await calls.isReachedBy(moving);
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

function reasonsOf(left: readonly { readonly reason: string }[]): string[] {
  return left.map(({ reason }) => reason).toSorted();
}
