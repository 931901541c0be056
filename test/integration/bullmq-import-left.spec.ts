import { expect, describe, it, vi } from 'vitest';
import { onOwnRedis, useBed } from '../support/app/bed.js';
import { CALL, HOUR, TOPIC, TOPICS, addJobsThatStay, byReason, onStage } from '../support/bullmq/import-stage.js';

const bed = useBed();

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

function refused(refusal: string): object {
  return { reason: 'refused', count: 1, refusal: expect.stringContaining(refusal) as string };
}
