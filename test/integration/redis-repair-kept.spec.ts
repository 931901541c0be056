import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import type { ClaimedMessage } from '../../lib/store/deliveries/claim.js';
import type { Outcome } from '../../lib/store/deliveries/settle.js';
import { toStoredId } from '../../lib/messages/stored-id.js';
import type { ClaimFields, ServedClaim } from '../support/broker/claimant.js';
import { ACK, LONG, message } from '../support/broker/broker-bed.js';
import { type RedisBed, openRedisBed } from '../support/broker/redis-bed.js';

describe('what is damaged in Redis of', () => {
  let bed: RedisBed;
  beforeEach(async () => {
    bed = await openRedisBed(inject('redisUrl'));
    await bed.claimant.acquire();
  });
  afterEach(() => bed.close());

  async function claim(fields: ClaimFields = {}): Promise<ServedClaim> {
    return bed.claimant.claim(fields);
  }

  async function settle({ storedId, token }: ClaimedMessage, outcome: Outcome): Promise<string | undefined> {
    const settlements = [{ storedId, token, outcome }];
    return (await bed.broker.deliveries.settle(bed.partition, bed.nextCall(), settlements))[0];
  }

  describe('finished messages', () => {
    const KEPT = { maxAge: LONG };

    async function finish(id: string): Promise<void> {
      await bed.broker.messages.publish(bed.partition, bed.nextCall(), [message(id)]);
      for (const claimed of (await claim({ finished: KEPT })).messages) await settle(claimed, ACK);
    }

    it.each(['', 'x', 'a', 'a - -\n', 'b - -\n0 1 1 1\n\n[1,2]', 'a  \n0 1 1 1\n\n[1,2]', 'a - -\n0 1 1 1\n'])(
      'count as not kept if their story is %j',
      async (ending) => {
        await finish('a');
        await bed.redis.hset(bed.keys.endings, 'a', ending);
        const request = { state: 'finished', limit: 20, maxBytes: 1000 } as const;

        expect(await bed.broker.messages.get(bed.partition, 'a')).toBeUndefined();
        expect(await bed.broker.messages.peek(bed.partition, request)).toEqual({ messages: [], next: undefined });
        const [published] = await bed.broker.messages.publish(bed.partition, bed.nextCall(), [message('a')]);
        expect(published).toMatchObject({ status: 'created' });
        expect(await bed.redis.exists(bed.keys.finished, bed.keys.endings)).toBe(0);
      },
    );

    it.each([
      ['a - -\nnonsense\nnonsense\nnonsense', { envelope: 'nonsense', deliveries: 0, attempts: 0, failure: undefined }],
      [`c ${'9'.repeat(30)} p\n0 ${'9'.repeat(30)} 1 1\n{"reason":1}\n`, { envelope: '', deliveries: 0, history: [] }],
      ['d -5 p\nc 0 2 1 7 3\n\n[1,2]', { deliveries: 2, attempts: 1, ending: { outcome: 'delivered', dueAt: 7 } }],
    ])('show what can be read of their story: %j', async (ending, shown) => {
      await finish('a');
      await bed.redis.hset(bed.keys.endings, 'a', ending);

      expect(await bed.broker.messages.get(bed.partition, 'a')).toMatchObject({ state: 'finished', ...shown });
      const [refused] = await bed.broker.messages.publish(bed.partition, bed.nextCall(), [message('a')]);
      expect(refused).toMatchObject({ status: 'rejected' });
    });

    it.each(['x', '', '1', '-1', '1 2 3', '1e3 5', 'inf -1'])(
      'go on being kept after the limits were %j',
      async (limits) => {
        await finish('a');
        await bed.redis.hset(bed.keys.meta, 'finished', limits);
        expect(await bed.broker.messages.get(bed.partition, 'a')).toBeUndefined();
        await bed.broker.messages.publish(bed.partition, bed.nextCall(), [message('b', { due: { after: LONG } })]);
        await bed.broker.messages.cancel(bed.partition, bed.nextCall(), 'b');
        expect(await bed.broker.deadLetters.trimFinished(bed.partition)).toBeUndefined();
        await claim({ finished: KEPT });

        expect(await bed.broker.messages.get(bed.partition, 'a')).toMatchObject({ state: 'finished' });
        expect(await bed.broker.messages.get(bed.partition, 'b')).toBeUndefined();
      },
    );

    it.each(['-inf', '-5', '1.5', 'inf', '1e300'])('that ended at %s harm nothing', async (score) => {
      await finish('a\0key');
      await bed.redis.zadd(bed.keys.finished, score, 'a\0key');
      await bed.redis.zadd(bed.keys.finished, score, 'without a story');
      await bed.broker.messages.peek(bed.partition, { state: 'finished', limit: 20, maxBytes: 1000 });
      await bed.broker.messages.get(bed.partition, 'a\0key');
      await bed.broker.messages.publish(bed.partition, bed.nextCall(), [message('a\0key'), message('without a story')]);
      await claim({ max: 0, finished: { maxAge: LONG, maxCount: 1 } });
      await bed.broker.deadLetters.trimFinished(bed.partition);

      expect(await bed.redis.zcard(bed.keys.finished)).toBeLessThanOrEqual(1);
      expect(await claim({ finished: KEPT })).toMatchObject({ status: 'claimed' });
    });

    it('without an envelope are not kept when they are settled', async () => {
      const storedId = toStoredId('id', 'key');
      await bed.broker.messages.publish(bed.partition, bed.nextCall(), [message(storedId), message('b')]);
      const { messages } = await claim({ finished: KEPT });
      await bed.redis.hdel(bed.keys.messages, storedId);
      for (const claimed of messages) expect(await settle(claimed, ACK)).toBe('settled');

      expect(await bed.redis.zrange(bed.keys.finished, '0', '-1')).toEqual(['b']);
      expect(await bed.broker.messages.locate(bed.partition, 'id')).toEqual([]);
    });
  });

  describe('tags', () => {
    const LATER = { due: { after: LONG } } as const;
    const REQUEST = { state: 'scheduled', tag: 'x', limit: 20, maxBytes: 1000 } as const;

    it('that only the index has find and cancel nothing, and are removed', async () => {
      const { broker, partition, nextCall, redis, keys } = bed;
      await broker.messages.publish(partition, nextCall(), [
        message('a', { ...LATER, tags: ['x'] }),
        message('b', LATER),
      ]);
      await redis.zadd(keys.tagged, 0, 'x\0b', 7, 'x\0nobody', 0, 'x', 0, '\0', 0, 'x\0');
      await redis.hset(keys.tags, 'nobody', 'x');

      expect((await broker.messages.peek(partition, REQUEST)).messages.map(({ storedId }) => storedId)).toEqual(['a']);
      expect(await broker.messages.cancelTagged(partition, nextCall(), 'x', undefined)).toMatchObject({ cancelled: 1 });
      expect(await broker.messages.get(partition, 'b')).toMatchObject({ state: 'scheduled' });
      expect((await broker.messages.stats(partition)).counters.repaired).toBeGreaterThanOrEqual(2);
      expect(await redis.zrangebylex(keys.tagged, '[x\0', '(x\x01')).toEqual([]);
    });

    it.each([
      '',
      '\0\0\0',
      'x',
      'x\0x\0x',
      `x\0${'y'.repeat(100_000)}`,
      Array.from({ length: 1000 }, (_, i) => i).join('\0'),
    ])('of any text end with their message: %#', async (stored) => {
      const { broker, partition, nextCall, redis, keys } = bed;
      await broker.messages.publish(partition, nextCall(), [message('a', { tags: ['x', 'y'] })]);
      await redis.hset(keys.tags, 'a', stored);
      await broker.messages.peek(partition, REQUEST);
      await broker.messages.publish(partition, nextCall(), [message('a', { tags: ['x'], onDuplicate: 'replace' })]);
      expect((await broker.messages.peek(partition, REQUEST)).messages).toMatchObject([{ storedId: 'a' }]);
      const [claimed] = (await claim()).messages;
      expect(claimed && (await settle(claimed, ACK))).toBe('settled');

      expect(await redis.exists(keys.tags)).toBe(0);
      await broker.messages.cancelTagged(partition, nextCall(), 'y', undefined);
      await broker.messages.cancelTagged(partition, nextCall(), 'x', undefined);
      expect(await redis.exists(keys.tagged)).toBe(0);
    });

    it('without the mark of the partition are found again once another message has some', async () => {
      const { broker, partition, nextCall, redis, keys } = bed;
      await broker.messages.publish(partition, nextCall(), [message('a', { ...LATER, tags: ['x'] })]);
      await redis.hdel(keys.meta, 'tagged');
      expect((await broker.messages.peek(partition, REQUEST)).messages).toEqual([]);
      await broker.messages.publish(partition, nextCall(), [message('b', { ...LATER, tags: ['x'] })]);

      expect((await broker.messages.peek(partition, REQUEST)).messages).toHaveLength(2);
    });
  });
});
