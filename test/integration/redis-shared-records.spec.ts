import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import type { SettleAnswer } from '../../lib/store/deliveries/settle.js';
import type { ClaimedMessage } from '../../lib/store/deliveries/claim.js';
import { ACK, LONG, LONG_AGO, message } from '../support/broker/broker-bed.js';
import { type RedisBed, openRedisBed, serverTime, serverTimeReaches } from '../support/broker/redis-bed.js';

const IDS = ['a', 'b', 'c', 'd'];

describe('a record that deliveries share, in Redis', () => {
  let bed: RedisBed;
  beforeEach(async () => {
    bed = await openRedisBed(inject('redisUrl'));
    await bed.claimant.acquire();
  });
  afterEach(() => bed.close());

  async function claimShared(lease = LONG): Promise<ClaimedMessage[]> {
    await bed.broker.messages.publish(
      bed.partition,
      bed.nextCall(),
      IDS.map((id) => message(id)),
    );
    const { messages } = await bed.claimant.claim({ sharesFrom: 1, lease });
    expect(await bed.redis.hlen(bed.keys.claims)).toBe(1);
    return messages;
  }

  async function ack(messages: readonly ClaimedMessage[]): Promise<SettleAnswer[]> {
    const settlements = messages.map(({ storedId, token }) => ({ storedId, token, outcome: ACK }));
    return bed.broker.deliveries.settle(bed.partition, bed.nextCall(), settlements);
  }

  async function leaseEnds(lease: number): Promise<void> {
    await serverTimeReaches(bed.redis, (await serverTime(bed.redis)) + lease + 1);
  }

  it('is all that is kept of them, and nothing stays behind', async () => {
    const claimed = await claimShared();
    expect(await bed.redis.exists(bed.keys.deliveries)).toBe(0);
    expect(await bed.redis.zcard(bed.keys.inflight)).toBe(1);
    await ack(claimed);
    const { claims, inflight, deliveries, messages } = bed.keys;
    expect(await bed.redis.exists(claims, inflight, deliveries, messages)).toBe(0);
  });

  // As a process does that speaks protocol 2: it finds the message in no set, and takes it for damage.
  it.each([
    { what: 'all of them', acked: [0, 1, 2, 3] },
    { what: 'some', acked: [0, 1] },
  ])('does not end a message that was published anew: $what end', async ({ acked }) => {
    const claimed = await claimShared();
    await bed.redis.hset(bed.keys.messages, 'b', '[1,"anew"]');
    await bed.redis.zadd(bed.keys.scheduled, LONG_AGO, 'b');

    expect(await ack(acked.map((i) => claimed[i] as ClaimedMessage))).toEqual(
      acked.map((i) => (i === 1 ? 'stale' : 'settled')),
    );
    expect((await bed.claimant.claim()).messages).toMatchObject([
      { storedId: 'b', envelope: '[1,"anew"]', delivery: 1 },
    ]);
  });

  it.each([
    { what: 'all of them', acked: [0, 1, 2, 3] },
    { what: 'some', acked: [0, 1] },
  ])('does not end one that was published anew and waits for another of its key: $what end', async ({ acked }) => {
    const claimed = await claimShared();
    await bed.redis.hset(bed.keys.places, 'mode', 'continue', 'head:b', 'x\0b', 'place:b', '1 0');
    await bed.redis.zadd(bed.keys.blocked, LONG_AGO, 'b');

    expect(await ack(acked.map((i) => claimed[i] as ClaimedMessage))).toEqual(
      acked.map((i) => (i === 1 ? 'stale' : 'settled')),
    );
    expect(await bed.redis.zscore(bed.keys.blocked, 'b')).toBe(String(LONG_AGO));
    expect(await bed.redis.hexists(bed.keys.messages, 'b')).toBe(1);
  });

  it.each(['', 'nonsense', '4 \0\0', '4 1,2\0\0a', '0 \0\0\0\0', 'x 1,1,1,1\0\0a\0\0b\0\0c\0\0d\0\0'])(
    'breaks nothing if it is damaged: %j',
    async (record) => {
      const claimed = await claimShared(5);
      const [field] = await bed.redis.hkeys(bed.keys.claims);
      await bed.redis.hset(bed.keys.claims, field as string, record);
      await bed.broker.messages.publish(bed.partition, bed.nextCall(), [message('other')]);

      expect((await ack(claimed.slice(0, 1)))[0]).toMatch(/^(stale|settled)$/);
      expect(await bed.broker.messages.cancel(bed.partition, bed.nextCall(), 'b')).toMatch(/^(not-found|in-flight)$/);
      await leaseEnds(5);
      expect((await bed.claimant.claim()).messages.map(({ storedId }) => storedId)).toContain('other');
      expect(await bed.redis.exists(bed.keys.claims)).toBe(0);
    },
  );

  it('that is gone is a lease of nothing, which is removed', async () => {
    await claimShared(5);
    await bed.redis.del(bed.keys.claims);
    await leaseEnds(5);
    await bed.claimant.claim();
    expect(await bed.broker.messages.stats(bed.partition)).toMatchObject({ inFlight: 0, counters: { repaired: 1 } });
  });

  it('without a lease is not found by the ids in it', async () => {
    const [first] = await claimShared();
    const [record] = await bed.redis.hvals(bed.keys.claims);
    // Whichever comes first in the table of Redis.
    for (let i = 1; i <= 20; i++) await bed.redis.hset(bed.keys.claims, `another.${i}`, record as string);
    await bed.broker.messages.get(bed.partition, 'a');
    expect(await bed.redis.hget(bed.keys.deliveries, 'a')).toContain(`${first?.token} `);
    expect(await ack([first as ClaimedMessage])).toEqual(['settled']);
  });

  it('ends by a lease that no claim can have given, as others do', async () => {
    await claimShared();
    const [lease] = await bed.redis.zrange(bed.keys.inflight, '0', '-1');
    await bed.redis.zadd(bed.keys.inflight, 'inf', lease as string);
    await bed.claimant.claim();
    expect((await bed.claimant.claim()).messages.map(({ storedId }) => storedId)).toEqual(IDS);
  });
});
