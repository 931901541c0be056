import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import type { ClaimedMessage, ClaimResult, Outcome } from '../../lib/broker/broker.interface.js';
import { toStoredId } from '../../lib/messages/stored-id.js';
import { ACK, DEAD, LONG, LONG_AGO, RETRY_LATER, message } from '../support/contract-bench.js';
import { type RedisBench, openRedisBench, serverTime, serverTimeReaches } from '../support/contract-redis.js';
import { startRedis } from '../support/redis-server.js';

describe('what is damaged in Redis', () => {
  let bench: RedisBench;
  beforeEach(async () => {
    bench = await openRedisBench(inject('redisUrl'));
    await bench.broker.acquire(bench.partition, 'm', LONG);
  });
  afterEach(() => bench.close());

  async function claim(
    fields: { max?: number; lease?: number; knownToken?: number } = {},
  ): Promise<Exclude<ClaimResult, { status: 'not-owner' }>> {
    const { delivered } = (await bench.broker.stats(bench.partition)).counters;
    const request = { member: 'm', max: 100, lease: LONG, knownToken: delivered, ...fields };
    const result = await bench.broker.claim(bench.partition, request);
    if (result.status === 'not-owner') throw new Error('it is the owner');
    return result;
  }

  async function settle({ storedId, token }: ClaimedMessage, outcome: Outcome): Promise<string | undefined> {
    const settlements = [{ storedId, token, outcome }];
    return (await bench.broker.settle(bench.partition, bench.nextCall(), settlements))[0];
  }

  async function deliver(id: string, lease = LONG): Promise<ClaimedMessage> {
    await bench.broker.publish(bench.partition, bench.nextCall(), [message(id)]);
    const [claimed] = (await claim({ max: 1, lease })).messages;
    if (!claimed) throw new Error('nothing to claim');
    return claimed;
  }

  async function pass(milliseconds: number): Promise<void> {
    await serverTimeReaches(bench.redis, (await serverTime(bench.redis)) + milliseconds);
  }

  describe('an id in `scheduled` without an envelope', () => {
    it('is removed by a claim, counted, and blocks nothing', async () => {
      await bench.redis.zadd(bench.keys.scheduled, 1, 'orphan 1', 2, 'orphan 2');
      await bench.redis.hset(bench.keys.deliveries, 'orphan 1', '0 3 3 1');
      await bench.broker.publish(bench.partition, bench.nextCall(), [message('a')]);

      const result = await claim();

      expect(result).toMatchObject({ repaired: 2, messages: [{ storedId: 'a' }] });
      expect(await bench.redis.zcard(bench.keys.scheduled)).toBe(0);
      expect(await bench.redis.hexists(bench.keys.deliveries, 'orphan 1')).toBe(0);
      expect((await bench.broker.stats(bench.partition)).counters.repaired).toBe(2);
      expect(await claim()).toMatchObject({ repaired: 0, messages: [] });
    });

    it('does not end a list, nor is it shown', async () => {
      const orphans = Array.from({ length: 40 }, (_, i) => [1, `orphan ${i}`]).flat();
      await bench.redis.zadd(bench.keys.scheduled, ...orphans);
      await bench.broker.publish(bench.partition, bench.nextCall(), [message('a')]);
      const request = { state: 'scheduled', limit: 20, maxBytes: 1000 } as const;

      const first = await bench.broker.peek(bench.partition, request);
      expect(first.messages).toEqual([]);
      const second = await bench.broker.peek(bench.partition, { ...request, after: first.next });
      const third = await bench.broker.peek(bench.partition, { ...request, after: second.next });

      expect(third).toMatchObject({ messages: [{ storedId: 'a' }], next: undefined });
    });

    it('is removed with its place among the ids that have keys', async () => {
      const storedId = toStoredId('id', 'key');
      await bench.broker.publish(bench.partition, bench.nextCall(), [message(storedId)]);
      await bench.redis.hdel(bench.keys.messages, storedId);

      expect(await claim()).toMatchObject({ repaired: 1 });
      expect(await bench.broker.locate(bench.partition, 'id')).toEqual([]);
    });

    it('does not keep a thousand others from being passed: claims that bring nothing come to an end', async () => {
      const orphans = Array.from({ length: 1000 }, (_, i) => [i, `orphan ${i}`]).flat();
      await bench.redis.zadd(bench.keys.scheduled, ...orphans);
      await bench.broker.publish(bench.partition, bench.nextCall(), [message('a')]);

      let repaired = 0;
      let claims = 0;
      let result = await claim();
      for (; result.messages.length === 0 && claims < 1000; claims++) {
        expect(result.repaired).toBeGreaterThan(0);
        expect(result.nextAt).toBeLessThanOrEqual(LONG_AGO);
        repaired += result.repaired;
        result = await claim();
      }

      expect(result.messages).toMatchObject([{ storedId: 'a' }]);
      expect(repaired + result.repaired).toBe(1000);
      expect(claims).toBeLessThan(20);
    });

    it('is no message that could be moved, and stays for the claim that removes it', async () => {
      await bench.redis.zadd(bench.keys.scheduled, LONG_AGO, 'a');

      const moved = await bench.broker.reschedule(bench.partition, bench.nextCall(), 'a', { after: LONG });

      expect(moved).toBe('not-found');
      expect(await claim()).toMatchObject({ repaired: 1, messages: [] });
    });

    it('is healed by a publish of the id', async () => {
      await bench.redis.zadd(bench.keys.scheduled, LONG_AGO, 'a');

      expect(await bench.broker.publish(bench.partition, bench.nextCall(), [message('a', { due: { at: 5 } })])).toEqual(
        [{ status: 'created', dueAt: 5 }],
      );
      expect((await claim()).messages).toMatchObject([{ storedId: 'a', dueAt: 5 }]);
      expect((await claim()).messages).toEqual([]);
    });
  });

  describe('an id in `inflight` without an envelope', () => {
    it('is removed when its lease has ended, and counted', async () => {
      await bench.redis.zadd(bench.keys.inflight, 1, 'orphan');
      await bench.broker.publish(bench.partition, bench.nextCall(), [message('a')]);

      expect(await claim()).toMatchObject({ repaired: 1, messages: [{ storedId: 'a' }] });
      expect(await bench.redis.zscore(bench.keys.inflight, 'orphan')).toBeNull();
    });

    it('does not let a message with this id be delivered twice', async () => {
      await bench.redis.zadd(bench.keys.inflight, 1, 'a');
      await bench.broker.publish(bench.partition, bench.nextCall(), [message('a')]);

      const { messages } = await claim();

      expect(messages.map(({ storedId }) => storedId)).toEqual(['a']);
      expect((await bench.broker.stats(bench.partition)).scheduled).toBe(0);
    });

    it('does not let the receipt of the lost message count', async () => {
      const lost = await deliver('a');
      await bench.redis.hdel(bench.keys.messages, 'a');

      expect(['settled', 'stale']).toContain(await settle(lost, ACK));
      expect(await bench.broker.get(bench.partition, 'a')).toBeUndefined();
      expect((await bench.broker.stats(bench.partition)).inFlight).toBe(0);
    });
  });

  describe('an envelope in no set', () => {
    it('is replaced by a publish of its id, and counted', async () => {
      for (const policy of ['reject', 'ignore', 'replace'] as const) {
        await bench.redis.hset(bench.keys.messages, policy, '[1,"lost"]');
        const fields = { envelope: '[2,"new"]', onDuplicate: policy };

        const results = await bench.broker.publish(bench.partition, bench.nextCall(), [message(policy, fields)]);

        expect(results).toEqual([{ status: 'created', dueAt: LONG_AGO }]);
        expect(await bench.broker.get(bench.partition, policy)).toMatchObject({ envelope: '[2,"new"]', attempts: 0 });
      }
      expect((await bench.broker.stats(bench.partition)).counters.repaired).toBe(3);
      expect((await claim()).messages).toHaveLength(3);
    });

    it('is replaced by a message that counts as published', async () => {
      await bench.redis.hset(bench.keys.messages, 'a', '[1,"lost"]');
      await bench.broker.publish(bench.partition, bench.nextCall(), [message('a')]);

      expect((await bench.broker.stats(bench.partition)).counters.published).toBe(1);
    });

    it('is scheduled by the repeat of its own publish', async () => {
      const own = message('a');
      await bench.redis.hset(bench.keys.messages, 'a', own.envelope);

      expect(await bench.broker.publish(bench.partition, bench.nextCall(), [own])).toMatchObject([
        { status: 'created' },
      ]);
      expect((await claim()).messages).toMatchObject([{ storedId: 'a' }]);
    });

    it('is not shown, and can be neither moved nor cancelled', async () => {
      const { broker, partition, nextCall } = bench;
      await bench.redis.hset(bench.keys.messages, 'a', '[1,"lost"]');

      expect(await broker.get(partition, 'a')).toBeUndefined();
      expect(await broker.reschedule(partition, nextCall(), 'a', { after: 0 })).toBe('not-found');
      expect(await broker.cancel(partition, nextCall(), 'a')).toBe('not-found');
      expect(await bench.redis.exists(bench.keys.scheduled)).toBe(0);
    });
  });

  describe('a delivery record', () => {
    const DAMAGED = ['', 'nonsense', '1', '7 2 3', '-1 -1 -1 -1', 'a b c d', '\u0000\u0001 1 1'];

    for (const record of DAMAGED) {
      it(`${JSON.stringify(record)} breaks neither settle, extend, cancel nor claim`, async () => {
        const claimed = await deliver('a', 5);
        await bench.redis.hset(bench.keys.deliveries, 'a', record);

        expect(await settle(claimed, ACK)).toBe('stale');
        expect(await bench.broker.extend(bench.partition, LONG, [claimed])).toEqual(['lost']);
        expect(await bench.broker.get(bench.partition, 'a')).toMatchObject({ state: 'in-flight' });
        await pass(5);
        const [again] = (await claim()).messages;
        expect(again).toMatchObject({ storedId: 'a', envelope: claimed.envelope, attempt: 1, token: 2 });
        expect(again && (await settle(again, ACK))).toBe('settled');
      });
    }

    for (const record of DAMAGED) {
      it(`${JSON.stringify(record)} does not keep its message from being moved`, async () => {
        const { broker, partition, nextCall } = bench;
        await broker.publish(partition, nextCall(), [message('a', { due: { after: LONG } })]);
        await bench.redis.hset(bench.keys.deliveries, 'a', record);

        expect(await broker.reschedule(partition, nextCall(), 'a', { at: 5 })).toBe('rescheduled');
        expect((await claim()).messages).toMatchObject([{ storedId: 'a', dueAt: 5, delivery: 1, attempt: 1 }]);
      });
    }

    for (const mark of ['r', 'rnonsense', 'r1.5.5', 'x', 'cc']) {
      it(`with the damaged mark '${mark}' breaks neither settle nor claim, and harms no other message`, async () => {
        await bench.broker.publish(bench.partition, bench.nextCall(), [message('a'), message('b')]);
        const { messages } = await claim({ lease: 5 });
        const b = messages[1];
        await bench.redis.hset(bench.keys.deliveries, 'a', `${mark} 1 1 1 ${LONG_AGO}`);
        await pass(5);

        const again = await claim();

        expect(again.messages.map(({ storedId }) => storedId)).toEqual(['a', 'b']);
        await bench.redis.hset(bench.keys.deliveries, 'a', `${mark} ${again.messages[0]?.token} 1 1 ${LONG_AGO}`);
        const settlements = again.messages.map(({ storedId, token }) => ({ storedId, token, outcome: ACK }));
        expect(await bench.broker.settle(bench.partition, bench.nextCall(), settlements)).toEqual([
          'settled',
          'settled',
        ]);
        expect(b).toMatchObject({ storedId: 'b' });
        expect(await bench.broker.stats(bench.partition)).toMatchObject({ inFlight: 0, scheduled: 0 });
      });
    }

    it('that is missing reads as a message that was never delivered', async () => {
      const claimed = await deliver('a', 5);
      await bench.redis.hdel(bench.keys.deliveries, 'a');
      expect(await settle(claimed, RETRY_LATER)).toBe('stale');
      await pass(5);

      expect((await claim()).messages).toMatchObject([{ storedId: 'a', attempt: 1, delivery: 1 }]);
    });

    it('that is damaged does not keep a message in flight from being cancelled', async () => {
      await deliver('a', 5);
      await bench.redis.hset(bench.keys.deliveries, 'a', 'nonsense');

      expect(await bench.broker.cancel(bench.partition, bench.nextCall(), 'a')).toBe('in-flight');
      await pass(5);
      expect((await claim()).messages).toEqual([]);
      expect(await bench.broker.get(bench.partition, 'a')).toBeUndefined();
    });

    it('that is damaged does not keep a waiting message from being delivered or replaced', async () => {
      await bench.broker.publish(bench.partition, bench.nextCall(), [message('a'), message('b')]);
      await bench.redis.hset(bench.keys.deliveries, 'a', 'nonsense', 'b', 'nonsense');
      await bench.broker.publish(bench.partition, bench.nextCall(), [message('b', { onDuplicate: 'replace' })]);

      expect((await claim()).messages).toMatchObject([
        { storedId: 'a', attempt: 1 },
        { storedId: 'b', attempt: 1 },
      ]);
    });
  });

  describe('the counters', () => {
    it('that are gone do not keep a partition from working', async () => {
      const before = await deliver('before');
      await bench.redis.del(bench.keys.meta);
      await bench.broker.publish(bench.partition, bench.nextCall(), [message('after')]);

      const result = await bench.broker.claim(bench.partition, { member: 'm', max: 9, lease: LONG, knownToken: 1 });

      expect(result).toMatchObject({ messages: [{ storedId: 'after' }] });
      expect(await settle(before, ACK)).toBe('settled');
    });
  });

  describe('an owner', () => {
    it('without an end to its session is no owner for ever', async () => {
      await bench.redis.set(bench.keys.owner, 'immortal');

      expect(await bench.broker.acquire(bench.partition, 'm', LONG)).toMatchObject({ acquired: true });
      expect(await bench.redis.pttl(bench.keys.owner)).toBeGreaterThan(0);
    });
  });

  describe('dead letters', () => {
    it('without envelopes are trimmed all the same', async () => {
      await settle(await deliver('a'), DEAD);
      await bench.redis.hdel(bench.keys.messages, 'a');

      expect(await bench.broker.get(bench.partition, 'a')).toBeUndefined();
      await bench.broker.trimDead(bench.partition, { maxCount: 0 });
      expect(await bench.redis.exists(bench.keys.dead, bench.keys.errors, bench.keys.deliveries)).toBe(0);
    });

    it('are trimmed at most two hundred at a time', async () => {
      const ids = Array.from({ length: 500 }, (_, i) => [i, `dead ${i}`]).flat();
      await bench.redis.zadd(bench.keys.dead, ...ids);

      const next = await bench.broker.trimDead(bench.partition, { maxAge: 1, maxCount: 0 });

      const left = await bench.redis.zcard(bench.keys.dead);
      expect(left).toBeGreaterThanOrEqual(300);
      expect(left).toBeLessThan(500);
      expect(next).toBeLessThanOrEqual(await serverTime(bench.redis));
    });
  });

  describe('scripts that the server has forgotten', () => {
    it('are sent again, for every call', async () => {
      const redis = await startRedis();
      const own = await openRedisBench(redis.url);
      const { broker, partition } = own;
      const flushed = async <T>(call: () => Promise<T>): Promise<T> => {
        await own.redis.script('FLUSH');
        return call();
      };
      try {
        expect(await flushed(() => broker.configure('orders', 4))).toMatchObject({ partitions: 4 });
        expect(await flushed(() => broker.join('orders', 'm', LONG, []))).toMatchObject([{ id: 'm' }]);
        expect(await flushed(() => broker.acquire(partition, 'm', LONG))).toMatchObject({ acquired: true });
        expect(await flushed(() => broker.publish(partition, own.nextCall(), [message('a')]))).toMatchObject([
          { status: 'created' },
        ]);
        const claimed = await flushed(() =>
          broker.claim(partition, { member: 'm', max: 1, lease: LONG, knownToken: 0 }),
        );
        expect(claimed).toMatchObject({ messages: [{ storedId: 'a', token: 1 }] });
        const receipt = { storedId: 'a', token: 1 };
        expect(await flushed(() => broker.extend(partition, LONG, [receipt]))).toEqual(['extended']);
        const settlements = [{ ...receipt, outcome: DEAD }];
        expect(await flushed(() => broker.settle(partition, own.nextCall(), settlements))).toEqual(['settled']);
        expect(await flushed(() => broker.get(partition, 'a'))).toMatchObject({ state: 'dead' });
        expect(await flushed(() => broker.stats(partition))).toMatchObject({ dead: 1 });
        expect(await flushed(() => broker.cancel(partition, own.nextCall(), 'a'))).toBe('not-found');
        expect(await flushed(() => broker.trimDead(partition, { maxCount: 0 }))).toBeUndefined();
        await flushed(() => broker.release(partition, 'm'));
        await flushed(() => broker.leave('orders', 'm'));
        expect(await broker.stats(partition)).toMatchObject({ owner: undefined, dead: 0 });
      } finally {
        await own.close();
        await redis.stop();
      }
    });
  });
});
