import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import type { ClaimedMessage } from '../../lib/store/deliveries/claim.js';
import type { Limits } from '../../lib/store/deliveries/limits.js';
import { AT_ONCE, type PermitReply } from '../../lib/store/deliveries/permits.js';
import type { PartitionKeys } from '../../lib/store/keys.js';
import type { ClaimFields } from '../support/broker/claimant.js';
import { ACK, LONG, LONG_AGO, message } from '../support/broker/broker-bed.js';
import { type RedisBed, openRedisBed, serverTime, serverTimeReaches } from '../support/broker/redis-bed.js';

const FOR_EVER = 8_000_000_000_000_000;

describe('limits in Redis', () => {
  let bed: RedisBed;
  beforeEach(async () => {
    bed = await openRedisBed(inject('redisUrl'));
    await bed.claimant.acquire();
  });
  afterEach(() => bed.close());

  async function publish(...ids: string[]): Promise<void> {
    for (let first = 0; first < ids.length; first += 200) {
      const messages = ids.slice(first, first + 200).map((id) => message(id));
      await bed.broker.messages.publish(bed.partition, bed.nextCall(), messages);
    }
  }

  async function claim(keyLimits: Limits | undefined, fields: ClaimFields = {}): Promise<ClaimedMessage[]> {
    return (await bed.claimant.claim({ keyLimits, ...fields })).messages;
  }

  async function settle(claimed: ClaimedMessage): Promise<void> {
    const { storedId, token } = claimed;
    await bed.broker.deliveries.settle(bed.partition, bed.nextCall(), [{ storedId, token, outcome: ACK }]);
  }

  async function pass(milliseconds: number): Promise<void> {
    await serverTimeReaches(bed.redis, (await serverTime(bed.redis)) + milliseconds);
  }

  /** Claims until so many messages have come, or nothing does any more. */
  async function claimAll(keyLimits: Limits | undefined): Promise<string[]> {
    const ids: string[] = [];
    for (let tries = 0; tries < 50; tries++) {
      const messages = await claim(keyLimits);
      ids.push(...messages.map(({ storedId }) => storedId));
    }
    return ids.toSorted();
  }

  describe('of keys, where another program has written', () => {
    const ONE: Limits = { inFlight: 1 };

    it('a delivery that is gone does not keep its place', async () => {
      await publish('a\0k', 'b\0k');
      await claim(ONE);
      await bed.redis.zrem(bed.keys.inflight, 'a\0k');
      expect(await claimAll(ONE)).toEqual(['b\0k']);
    });

    it('what is parked is found without its queue, and without the mode', async () => {
      await publish('a\0k', 'b\0k', 'c\0l');
      const [first] = (await claim(ONE)) as [ClaimedMessage];
      await bed.redis.del(bed.keys.places);
      await settle(first);
      expect(await claimAll(ONE)).toEqual(['b\0k']);
    });

    it.each([
      ['rates', 'nonsense'],
      ['rates', '5 5 5 x'],
      ['rates', `${FOR_EVER}`],
      ['rates', `0 ${FOR_EVER} 5`],
      ['rates', '9'.repeat(400)],
    ] as const)('a record of a key counts as none that cannot be read: %s %s', async (key, record) => {
      await publish('a\0k', 'b\0k');
      await bed.redis.hset(bed.keys[key], 'k', record);
      await bed.redis.hset(bed.keys.places, 'mode', 'limits');
      const limits: Limits = { rate: { max: 2, per: 100 } };
      const claimed = await claim(limits);
      await pass(200);
      expect([...claimed, ...(await claim(limits))]).toHaveLength(2);
    });

    it.each(['inf', String(FOR_EVER)])('what waits for a key goes on that is to rest until %s', async (score) => {
      await publish('a\0k', 'b\0k');
      const limits: Limits = { rate: { max: 1, per: 100 } };
      await claim(limits);
      await bed.redis.zadd(bed.keys.resting, score, 'k');
      await pass(200);
      expect(await claimAll(limits)).toEqual(['b\0k']);
    });

    it('a hold that lies too far ahead counts as none', async () => {
      await publish('a');
      await bed.redis.hset(bed.keys.meta, 'held', FOR_EVER);
      expect((await bed.broker.messages.stats(bed.partition)).heldUntil).toBeUndefined();
      expect(await claim(undefined)).toHaveLength(1);
      await bed.redis.hset(bed.keys.meta, 'held', 'soon');
      await publish('b');
      expect(await claim(undefined)).toHaveLength(1);
    });

    it.each(['running', 'rates', 'rated', 'resting', 'blocked', 'queues'] satisfies (keyof PartitionKeys)[])(
      'a key of another type is set aside: %s',
      async (key) => {
        const limits: Limits = { inFlight: 1, rate: { max: 2, per: 60_000 } };
        await publish('a\0k', 'b\0k', 'c\0l');
        await bed.redis.del(bed.keys[key]);
        await bed.redis.set(bed.keys[key], 'mine');
        expect(await claim(limits)).toHaveLength(2);
        expect(await bed.redis.get(`${bed.keys[key]}:set-aside`)).toBe('mine');
      },
    );

    it('nothing is written of a claim or a settle that fails for such a key', async () => {
      const limits: Limits = { inFlight: 1, rate: { max: 2, per: 60_000 } };
      await publish('a\0k', 'b\0k');
      const [first] = (await claim(limits)) as [ClaimedMessage];
      await bed.redis.del(bed.keys.resting);
      await bed.redis.set(bed.keys.resting, 'mine');
      const { storedId, token } = first;
      const outcome = { kind: 'put-off', delay: LONG, scope: 'key' } as const;
      const call = bed.nextCall();
      expect(await bed.broker.deliveries.settle(bed.partition, call, [{ storedId, token, outcome }])).toEqual([
        'settled',
      ]);
      expect(await bed.redis.zscore(bed.keys.inflight, storedId)).toBeNull();
      expect(await bed.redis.zscore(bed.keys.resting, 'k')).not.toBeNull();
    });
  });

  describe('of a topic, where another program has written', () => {
    let sequence = 0;

    async function permit(limits: Limits, wanted = 5, begin = AT_ONCE): Promise<PermitReply> {
      return bed.broker.deliveries.permit('orders', {
        session: 'host:1:me',
        sequence: ++sequence,
        limits,
        held: 0,
        idle: 0,
        wanted,
        lease: LONG,
        patience: LONG,
        returned: [],
        begin,
      });
    }

    it.each([
      'nonsense',
      '\n\n\n',
      `${FOR_EVER} 3`,
      `\nhost:2:a 1 3 ${FOR_EVER} 0 0\n`,
      `\nhost:2:a ${'9'.repeat(400)} 3 5 0 0\n`,
      '\nhost:2:a 1 3\n',
      '\0\0\0',
    ])('permits that cannot be read count as none: %j', async (text) => {
      await bed.redis.set(permitsKey(bed.prefix), text);
      expect(await permit({ inFlight: 3 })).toMatchObject({ permitted: 3 });
    });

    it('permits of another type are set aside', async () => {
      await bed.redis.hset(permitsKey(bed.prefix), 'a', 'b');
      expect(await permit({ rate: { max: 3, per: 1000 } })).toMatchObject({ permitted: 3 });
      expect(await bed.redis.hget(`${permitsKey(bed.prefix)}:set-aside`, 'a')).toBe('b');
    });

    it('times that lie ahead are of now, so that nothing waits for longer than a window', async () => {
      const limits: Limits = { rate: { max: 3, per: 100 } };
      await bed.redis.set(permitsKey(bed.prefix), `${Math.round(await serverTime(bed.redis)) + 3_600_000} 3\n`);
      expect(await permit(limits)).toMatchObject({ permitted: 0 });
      await pass(160);
      expect(await permit(limits)).toMatchObject({ permitted: 3 });
    });

    it('limits that cannot be read are none', async () => {
      await bed.broker.fleet.configure('orders', 3, undefined, { limits: { inFlight: { topic: 3 } } });
      await bed.redis.hset(`{${bed.prefix}:orders}:config`, 'limits', 'many');
      expect(await bed.broker.fleet.configOf('orders')).toMatchObject({ partitions: 3 });
      expect((await bed.broker.fleet.configOf('orders'))?.limits).toBeUndefined();
    });

    it('permits are gone once they count no more, and no repeat of a call can ask for its answer', async () => {
      await permit({ rate: { max: 3, per: 100 } }, 1);
      expect(await bed.redis.pttl(permitsKey(bed.prefix))).toBeLessThanOrEqual(61_000);
    });

    it('permits are kept until they count no more, also such as begin later than was asked for', async () => {
      const per = 60_000;
      const begin = { lead: 0, slack: 5000, ahead: 0 };
      await bed.redis.set(permitsKey(bed.prefix), `${Math.round(await serverTime(bed.redis)) - per + 3000} 1\n`);
      const { begins } = await permit({ rate: { max: 1, per } }, 1, begin);
      const counts = (begins?.until ?? Infinity) + per - (await serverTime(bed.redis));
      expect(await bed.redis.pttl(permitsKey(bed.prefix))).toBeGreaterThan(counts);
    });

    it('permits of 300 processes are shared in a few milliseconds', async () => {
      const limits: Limits = { inFlight: 50, rate: { max: 100, per: 60_000 } };
      const times: number[] = [];
      for (let i = 0; i < 300; i++) {
        const begin = performance.now();
        await bed.broker.deliveries.permit('orders', {
          session: `host:${i}:me`,
          sequence: 1,
          limits,
          held: 0,
          idle: 0,
          wanted: 10,
          lease: LONG,
          patience: LONG,
          returned: [],
        });
        times.push(performance.now() - begin);
      }
      console.info(`permits with 300 processes: ${times.toSorted((a, b) => a - b)[285]?.toFixed(1)} ms`);
      const text = (await bed.redis.get(permitsKey(bed.prefix))) ?? '';
      expect(text.split('\n').length).toBeGreaterThan(290);
    });
  });

  describe('of keys, with many messages', () => {
    it('of one key: claims stay short, while they are parked and when they come back', async () => {
      const ids = Array.from({ length: 20_000 }, (_, i) => `m${i}\0hot`);
      await publish(...ids);
      await publish('other');
      await bed.redis.config('RESETSTAT');
      const limits: Limits = { inFlight: 1, rate: { max: 100, per: 60_000 } };
      let claimed: ClaimedMessage[] = [];
      for (let n = 0; n < 80; n++) claimed = [...claimed, ...(await claim(limits))];
      expect(claimed.map(({ storedId }) => storedId).toSorted()).toEqual(['m0\0hot', 'other']);
      expect(await bed.broker.messages.stats(bed.partition)).toMatchObject({ due: 0, blocked: 19_999 });

      for (let n = 0; n < 150; n++) {
        for (const one of claimed) await settle(one);
        claimed = await claim(undefined);
      }
      const stats = await bed.redis.info('commandstats');
      const [, calls, microseconds] = /cmdstat_evalsha:calls=(\d+),usec=(\d+)/.exec(stats) ?? [];
      console.info(`20,000 of one key: ${(Number(microseconds) / Number(calls) / 1000).toFixed(2)} ms a script`);
      expect((await bed.broker.messages.stats(bed.partition)).blocked).toBeLessThan(19_999);
    });

    it('a claim parks 400 at most', async () => {
      await publish(...Array.from({ length: 600 }, (_, i) => `m${i}\0hot`));
      expect(await claim({ inFlight: 1 })).toHaveLength(1);
      expect((await bed.broker.messages.stats(bed.partition)).blocked).toBeLessThan(400);
    });

    it('a claim forgets many keys of which nothing counts, and asks for no claim at once for the others', async () => {
      const keys = Array.from({ length: 700 }, (_, i) => `k${i}`);
      await bed.redis.hset(bed.keys.rates, ...keys.flatMap((key) => [key, '0 5 1']));
      await bed.redis.zadd(bed.keys.rated, ...keys.flatMap((key) => ['6', key]));
      const before = Math.floor(await serverTime(bed.redis));
      const { nextAt } = await bed.claimant.claim({ keyLimits: { rate: { max: 1, per: 1 } } });
      expect(await bed.redis.hlen(bed.keys.rates)).toBe(200);
      expect(nextAt).toBeGreaterThanOrEqual(before + 1000);
    });

    it('hands out what was due first first', async () => {
      for (let i = 0; i < 5; i++) {
        await bed.broker.messages.publish(bed.partition, bed.nextCall(), [
          message(`m${i}\0k`, { due: { at: LONG_AGO - i } }),
        ]);
      }
      const handled: string[] = [];
      for (let n = 0; n < 5; n++) {
        const [one] = (await claim({ inFlight: 1 })) as [ClaimedMessage];
        handled.push(one.storedId.slice(0, 2));
        await settle(one);
      }
      expect(handled).toEqual(['m4', 'm3', 'm2', 'm1', 'm0']);
    });
  });
});

function permitsKey(prefix: string): string {
  return `{${prefix}:orders}:permits`;
}
