import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import type { ClaimedMessage } from '../../lib/store/deliveries/claim.js';
import type { Outcome } from '../../lib/store/deliveries/settle.js';
import { toFailedAttempt } from '../../lib/messages/failure.js';
import { toStoredId } from '../../lib/messages/stored-id.js';
import type { ClaimFields, ServedClaim } from '../support/broker/claimant.js';
import { ACK, DEAD, FAILURE, LONG, LONG_AGO, RETRY, RETRY_LATER, message } from '../support/broker/broker-bed.js';
import { type RedisBed, openRedisBed, serverTime, serverTimeReaches } from '../support/broker/redis-bed.js';

describe('what is damaged in Redis', () => {
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

  async function deliver(id: string, lease = LONG): Promise<ClaimedMessage> {
    await bed.broker.messages.publish(bed.partition, bed.nextCall(), [message(id)]);
    const [claimed] = (await claim({ max: 1, lease })).messages;
    if (!claimed) throw new Error('nothing to claim');
    return claimed;
  }

  async function pass(milliseconds: number): Promise<void> {
    await serverTimeReaches(bed.redis, (await serverTime(bed.redis)) + milliseconds);
  }

  describe('entries in `inflight` that have no record', () => {
    it('do not cost another message the attempts that it has spent', async () => {
      await bed.redis.zadd(bed.keys.inflight, Date.now() + LONG, 'orphan 1', Date.now() + LONG, 'orphan 2');
      await settle(await deliver('a'), RETRY);
      // A delay is added to the next whole millisecond.
      await pass(1);

      expect((await claim()).messages).toMatchObject([{ storedId: 'a', attempt: 2, delivery: 2 }]);
    });
  });

  it('is not the history of a failure with white space, as others write JSON', async () => {
    const [first, second] = [1, 2].map((attempt) => toFailedAttempt(FAILURE, { at: 7, attempt, duration: 5 }));
    await settle(await deliver('a'), RETRY);
    await bed.redis.hset(
      bed.keys.errors,
      'a',
      JSON.stringify({ ...FAILURE, history: [{ ...first, at: 7 }] }, undefined, 1),
    );
    await pass(1);
    const [claimed] = (await claim()).messages;
    await settle(claimed as ClaimedMessage, { kind: 'retry', delay: 0, failure: FAILURE, failedAttempt: second });

    expect((await bed.broker.messages.get(bed.partition, 'a'))?.history).toEqual([second, first]);
  });

  describe('an id in `scheduled` without an envelope', () => {
    it('is removed by a claim, counted, and blocks nothing', async () => {
      await bed.redis.zadd(bed.keys.scheduled, 1, 'orphan 1', 2, 'orphan 2');
      await bed.redis.hset(bed.keys.deliveries, 'orphan 1', '0 3 3 1');
      await bed.broker.messages.publish(bed.partition, bed.nextCall(), [message('a')]);

      const result = await claim();

      expect(result).toMatchObject({ repaired: 2, messages: [{ storedId: 'a' }] });
      expect(await bed.redis.zcard(bed.keys.scheduled)).toBe(0);
      expect(await bed.redis.hexists(bed.keys.deliveries, 'orphan 1')).toBe(0);
      expect((await bed.broker.messages.stats(bed.partition)).counters.repaired).toBe(2);
      expect(await claim()).toMatchObject({ repaired: 0, messages: [] });
    });

    it('does not end a list and is not shown', async () => {
      const orphans = Array.from({ length: 40 }, (_, i) => [1, `orphan ${i}`]).flat();
      await bed.redis.zadd(bed.keys.scheduled, ...orphans);
      await bed.broker.messages.publish(bed.partition, bed.nextCall(), [message('a')]);
      const request = { state: 'scheduled', limit: 20, maxBytes: 1000 } as const;

      const first = await bed.broker.messages.peek(bed.partition, request);
      expect(first.messages).toEqual([]);
      const second = await bed.broker.messages.peek(bed.partition, { ...request, after: first.next });
      const third = await bed.broker.messages.peek(bed.partition, { ...request, after: second.next });

      expect(third).toMatchObject({ messages: [{ storedId: 'a' }], next: undefined });
    });

    it('is also removed from the ids with keys', async () => {
      const storedId = toStoredId('id', 'key');
      await bed.broker.messages.publish(bed.partition, bed.nextCall(), [message(storedId)]);
      await bed.redis.hdel(bed.keys.messages, storedId);

      expect(await claim()).toMatchObject({ repaired: 1 });
      expect(await bed.broker.messages.locate(bed.partition, 'id')).toEqual([]);
    });

    it('does not block a claim, even a thousand times: claims without messages come to an end', async () => {
      const orphans = Array.from({ length: 1000 }, (_, i) => [i, `orphan ${i}`]).flat();
      await bed.redis.zadd(bed.keys.scheduled, ...orphans);
      await bed.broker.messages.publish(bed.partition, bed.nextCall(), [message('a')]);

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
      await bed.redis.zadd(bed.keys.scheduled, LONG_AGO, 'a');

      const moved = await bed.broker.messages.reschedule(bed.partition, bed.nextCall(), 'a', { after: LONG });

      expect(moved).toBe('not-found');
      expect(await claim()).toMatchObject({ repaired: 1, messages: [] });
    });

    it('is healed by a publish of the id', async () => {
      await bed.redis.zadd(bed.keys.scheduled, LONG_AGO, 'a');

      expect(
        await bed.broker.messages.publish(bed.partition, bed.nextCall(), [message('a', { due: { at: 5 } })]),
      ).toMatchObject([{ status: 'created', dueAt: 5 }]);
      expect((await claim()).messages).toMatchObject([{ storedId: 'a', dueAt: 5 }]);
      expect((await claim()).messages).toEqual([]);
    });
  });

  describe('an id in `inflight` without an envelope', () => {
    it('is removed when its lease has ended, and counted', async () => {
      await bed.redis.zadd(bed.keys.inflight, 1, 'orphan');
      await bed.broker.messages.publish(bed.partition, bed.nextCall(), [message('a')]);

      expect(await claim()).toMatchObject({ repaired: 1, messages: [{ storedId: 'a' }] });
      expect(await bed.redis.zscore(bed.keys.inflight, 'orphan')).toBeNull();
    });

    it('does not let a message with this id be delivered twice', async () => {
      await bed.redis.zadd(bed.keys.inflight, 1, 'a');
      await bed.broker.messages.publish(bed.partition, bed.nextCall(), [message('a')]);

      const { messages } = await claim();

      expect(messages.map(({ storedId }) => storedId)).toEqual(['a']);
      expect((await bed.broker.messages.stats(bed.partition)).scheduled).toBe(0);
    });

    it('does not make the receipt of the lost message count', async () => {
      const lost = await deliver('a');
      await bed.redis.hdel(bed.keys.messages, 'a');

      expect(['settled', 'stale']).toContain(await settle(lost, ACK));
      expect(await bed.broker.messages.get(bed.partition, 'a')).toBeUndefined();
      expect((await bed.broker.messages.stats(bed.partition)).inFlight).toBe(0);
    });
  });

  describe('a first publish', () => {
    const LATER = '9'.repeat(13);

    it.each([`f${LATER}`, `f${'9'.repeat(40)}`, 'f', 'f1.5', 'r5', 'x'])(
      'that is in the future or no time counts as none: %s',
      async (mark) => {
        await bed.broker.messages.publish(bed.partition, bed.nextCall(), [message('a')]);
        await bed.redis.hset(bed.keys.deliveries, 'a', `${mark} 0 0 0 ${LONG_AGO}`);
        const fields = { due: { after: LONG }, onDuplicate: 'replace', maxWait: 1000 } as const;

        const [result] = await bed.broker.messages.publish(bed.partition, bed.nextCall(), [message('a', fields)]);

        const { dueAt = NaN } = result ?? {};
        expect(dueAt).toBeLessThanOrEqual(Math.ceil(await serverTime(bed.redis)) + 1000);
        expect(dueAt).toBeGreaterThan((await serverTime(bed.redis)) - LONG);
        expect(await bed.redis.hget(bed.keys.deliveries, 'a')).toBe(`f${dueAt - 1000} 0 0 0 ${dueAt}`);
      },
    );

    it('does not keep a message in flight from being delivered again when its lease ends', async () => {
      const { token } = await deliver('a', 1);
      await bed.redis.hset(bed.keys.deliveries, 'a', `f5 ${token} 1 1 ${LONG_AGO}`);
      await pass(2);

      expect((await claim()).messages).toMatchObject([{ storedId: 'a', delivery: 2 }]);
    });
  });

  describe('an envelope in no set', () => {
    it('is replaced by a publish of its id, and counted', async () => {
      for (const policy of ['reject', 'ignore', 'replace', 'earliest'] as const) {
        await bed.redis.hset(bed.keys.messages, policy, '[1,"lost"]');
        const fields = { envelope: '[2,"new"]', onDuplicate: policy };

        const results = await bed.broker.messages.publish(bed.partition, bed.nextCall(), [message(policy, fields)]);

        expect(results).toMatchObject([{ status: 'created', dueAt: LONG_AGO }]);
        expect(await bed.broker.messages.get(bed.partition, policy)).toMatchObject({
          envelope: '[2,"new"]',
          attempts: 0,
        });
      }
      expect((await bed.broker.messages.stats(bed.partition)).counters.repaired).toBe(4);
      expect((await claim()).messages).toHaveLength(4);
    });

    it('is replaced by a message that counts as published', async () => {
      await bed.redis.hset(bed.keys.messages, 'a', '[1,"lost"]');
      await bed.broker.messages.publish(bed.partition, bed.nextCall(), [message('a')]);

      expect((await bed.broker.messages.stats(bed.partition)).counters.published).toBe(1);
    });

    it('is scheduled by the repeat of its own publish', async () => {
      const own = message('a');
      await bed.redis.hset(bed.keys.messages, 'a', own.envelope);

      expect(await bed.broker.messages.publish(bed.partition, bed.nextCall(), [own])).toMatchObject([
        { status: 'created' },
      ]);
      expect((await claim()).messages).toMatchObject([{ storedId: 'a' }]);
    });

    it('is not shown, and can be neither moved nor cancelled', async () => {
      const { broker, partition, nextCall } = bed;
      await bed.redis.hset(bed.keys.messages, 'a', '[1,"lost"]');

      expect(await broker.messages.get(partition, 'a')).toBeUndefined();
      expect(await broker.messages.reschedule(partition, nextCall(), 'a', { after: 0 })).toBe('not-found');
      expect(await broker.messages.cancel(partition, nextCall(), 'a')).toBe('not-found');
      expect(await bed.redis.exists(bed.keys.scheduled)).toBe(0);
    });
  });

  describe('a delivery record', () => {
    const DAMAGED = ['', 'nonsense', '1', '7 2 3', '-1 -1 -1 -1', 'a b c d', '\u0000\u0001 1 1'];

    for (const record of DAMAGED) {
      it(`${JSON.stringify(record)} breaks neither settle, extend, cancel nor claim`, async () => {
        const claimed = await deliver('a', 5);
        await bed.redis.hset(bed.keys.deliveries, 'a', record);

        expect(await settle(claimed, ACK)).toBe('stale');
        expect(await bed.broker.deliveries.extend(bed.partition, LONG, [claimed])).toEqual(['lost']);
        expect(await bed.broker.messages.get(bed.partition, 'a')).toMatchObject({ state: 'in-flight' });
        await pass(5);
        const [again] = (await claim()).messages;
        expect(again).toMatchObject({
          storedId: 'a',
          envelope: claimed.envelope,
          attempt: 1,
          token: bed.claimant.token(2),
        });
        expect(again && (await settle(again, ACK))).toBe('settled');
      });
    }

    for (const record of DAMAGED) {
      it(`${JSON.stringify(record)} does not keep its message from being moved`, async () => {
        const { broker, partition, nextCall } = bed;
        await broker.messages.publish(partition, nextCall(), [message('a', { due: { after: LONG } })]);
        await bed.redis.hset(bed.keys.deliveries, 'a', record);

        expect(await broker.messages.reschedule(partition, nextCall(), 'a', { at: 5 })).toBe('moved');
        expect((await claim()).messages).toMatchObject([{ storedId: 'a', dueAt: 5, delivery: 1, attempt: 1 }]);
      });
    }

    for (const mark of ['r', 'rnonsense', 'r1.5.5', 'x', 'cc']) {
      it(`with the damaged mark '${mark}' breaks neither settle nor claim, and harms no other message`, async () => {
        await bed.broker.messages.publish(bed.partition, bed.nextCall(), [message('a'), message('b')]);
        const { messages } = await claim({ lease: 5 });
        const b = messages[1];
        await bed.redis.hset(bed.keys.deliveries, 'a', `${mark} 1 1 1 ${LONG_AGO}`);
        await pass(5);

        const again = await claim();

        expect(again.messages.map(({ storedId }) => storedId)).toEqual(['a', 'b']);
        await bed.redis.hset(bed.keys.deliveries, 'a', `${mark} ${again.messages[0]?.token} 1 1 ${LONG_AGO}`);
        const settlements = again.messages.map(({ storedId, token }) => ({ storedId, token, outcome: ACK }));
        expect(await bed.broker.deliveries.settle(bed.partition, bed.nextCall(), settlements)).toEqual([
          'settled',
          'settled',
        ]);
        expect(b).toMatchObject({ storedId: 'b' });
        expect(await bed.broker.messages.stats(bed.partition)).toMatchObject({ inFlight: 0, scheduled: 0 });
      });
    }

    it('that is missing counts as a message that was never delivered', async () => {
      const claimed = await deliver('a', 5);
      await bed.redis.hdel(bed.keys.deliveries, 'a');
      expect(await settle(claimed, RETRY_LATER)).toBe('stale');
      await pass(5);

      expect((await claim()).messages).toMatchObject([{ storedId: 'a', attempt: 1, delivery: 1 }]);
    });

    it('that is damaged does not prevent a message in flight from being cancelled', async () => {
      await deliver('a', 5);
      await bed.redis.hset(bed.keys.deliveries, 'a', 'nonsense');

      expect(await bed.broker.messages.cancel(bed.partition, bed.nextCall(), 'a')).toBe('in-flight');
      await pass(5);
      expect((await claim()).messages).toEqual([]);
      expect(await bed.broker.messages.get(bed.partition, 'a')).toBeUndefined();
    });

    it('that is damaged does not keep a waiting message from being delivered or replaced', async () => {
      await bed.broker.messages.publish(bed.partition, bed.nextCall(), [message('a'), message('b')]);
      await bed.redis.hset(bed.keys.deliveries, 'a', 'nonsense', 'b', 'nonsense');
      await bed.broker.messages.publish(bed.partition, bed.nextCall(), [message('b', { onDuplicate: 'replace' })]);

      expect((await claim()).messages).toMatchObject([
        { storedId: 'a', attempt: 1 },
        { storedId: 'b', attempt: 1 },
      ]);
    });
  });

  describe('the counters', () => {
    it('that are gone do not stop a partition', async () => {
      const before = await deliver('before');
      await bed.redis.del(bed.keys.meta);
      await bed.broker.messages.publish(bed.partition, bed.nextCall(), [message('after')]);

      const result = await claim();

      expect(result).toMatchObject({ messages: [{ storedId: 'after' }] });
      expect(await settle(before, ACK)).toBe('settled');
    });
  });

  describe('dead letters', () => {
    it('without envelopes are trimmed too', async () => {
      await settle(await deliver('a'), DEAD);
      await bed.redis.hdel(bed.keys.messages, 'a');

      expect(await bed.broker.messages.get(bed.partition, 'a')).toBeUndefined();
      await bed.broker.deadLetters.trimDead(bed.partition, { maxCount: 0 });
      expect(await bed.redis.exists(bed.keys.dead, bed.keys.errors, bed.keys.deliveries)).toBe(0);
    });

    it('are trimmed at most two hundred at a time', async () => {
      const ids = Array.from({ length: 500 }, (_, i) => [i, `dead ${i}`]).flat();
      await bed.redis.zadd(bed.keys.dead, ...ids);

      const next = await bed.broker.deadLetters.trimDead(bed.partition, { maxAge: 1, maxCount: 0 });

      const left = await bed.redis.zcard(bed.keys.dead);
      expect(left).toBeGreaterThanOrEqual(300);
      expect(left).toBeLessThan(500);
      expect(next).toBeLessThanOrEqual(await serverTime(bed.redis));
    });
  });
});
