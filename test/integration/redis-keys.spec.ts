import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { RedisKeys } from '../../lib/broker/redis/redis-keys.js';
import { toStoredId } from '../../lib/messages/stored-id.js';
import { DEAD, LONG, RETRY_LATER, message } from '../support/broker/broker-bed.js';
import { type RedisBed, openRedisBed } from '../support/broker/redis-bed.js';

describe('the keys of Redis', () => {
  let bed: RedisBed;
  beforeEach(async () => {
    bed = await openRedisBed(inject('redisUrl'));
  });
  afterEach(() => bed.close());

  /** Writes something to every key. */
  async function useEverything(): Promise<void> {
    const { broker, partition } = bed;
    await broker.configure(partition.topic, 8);
    await broker.join(partition.topic, 'm', LONG, [0]);
    await broker.acquire(partition, 'm', LONG);
    await broker.publish(
      partition,
      bed.nextCall(),
      ['a', 'b', 'c', toStoredId('d', 'key')].map((id) => message(id)),
    );
    const result = await broker.claim(partition, { member: 'm', max: 3, lease: LONG, knownToken: 0 });
    if (result.status === 'not-owner') throw new Error('it is the owner');
    const [a, b] = result.messages;
    if (!a || !b) throw new Error('three were claimed');
    const settlements = [
      { storedId: a.storedId, token: a.token, outcome: DEAD },
      { storedId: b.storedId, token: b.token, outcome: RETRY_LATER },
    ];
    await broker.settle(partition, bed.nextCall(), settlements);
  }

  it('are those that redis-keys.ts lists, each of the type it says', async () => {
    await useEverything();

    const tag = `{${bed.prefix}:orders:0}`;
    const topicTag = `{${bed.prefix}:orders}`;
    const expected: Readonly<Record<string, string>> = {
      [`${tag}:scheduled`]: 'zset',
      [`${tag}:inflight`]: 'zset',
      [`${tag}:messages`]: 'hash',
      [`${tag}:deliveries`]: 'hash',
      [`${tag}:dead`]: 'zset',
      [`${tag}:errors`]: 'hash',
      [`${tag}:keyed`]: 'zset',
      [`${tag}:owner`]: 'string',
      [`${tag}:meta`]: 'hash',
      [`${tag}:answered:bed`]: 'string',
      [`${topicTag}:members`]: 'zset',
      [`${topicTag}:holdings`]: 'hash',
      [`${topicTag}:config`]: 'hash',
      [`{${bed.prefix}:topics}`]: 'zset',
    };
    const stored = await bed.storedKeys();
    const types = await Promise.all(stored.map(async (key) => [key, await bed.redis.type(key)] as const));
    expect(Object.fromEntries(types)).toEqual(expected);
  });

  it('have the names that RedisKeys gives them', async () => {
    await useEverything();
    const keys = new RedisKeys(bed.prefix);
    const { channel, ...partitionKeys } = keys.partition(bed.partition);
    const { channel: membersChannel, ...topicKeys } = keys.topic('orders');

    const named = [
      ...Object.values(partitionKeys),
      keys.answered(bed.partition, 'bed'),
      ...Object.values(topicKeys),
      keys.topics,
    ];
    expect(await bed.storedKeys()).toEqual(named.toSorted((a, b) => (a < b ? -1 : 1)));
    expect(channel).toBe(`{${bed.prefix}:orders:0}:signals`);
    expect(membersChannel).toBe(`{${bed.prefix}:orders}:changes`);
  });

  it('of one partition share a hash tag, so a cluster slot', () => {
    const { channel, ...keys } = bed.keys;
    const all = [channel, ...Object.values(keys), new RedisKeys(bed.prefix).answered(bed.partition, 'bed')];

    // The text between the first brace and the next closing one decides the slot.
    const tags = all.map((key) => /^\{([^{}]+)\}[^{}]*$/.exec(key)?.[1]);

    expect(new Set(tags)).toEqual(new Set([`${bed.prefix}:orders:0`]));
  });

  it('the owner has an end to its session', async () => {
    await bed.broker.acquire(bed.partition, 'm', LONG);

    expect(await bed.redis.get(bed.keys.owner)).toBe('m');
    const remaining = await bed.redis.pttl(bed.keys.owner);
    expect(remaining).toBeGreaterThan(LONG / 2);
    expect(remaining).toBeLessThanOrEqual(LONG);
  });

  it('the answer to a call expires after two minutes, longer than repeats take', async () => {
    await useEverything();

    const remaining = await bed.redis.pttl(new RedisKeys(bed.prefix).answered(bed.partition, 'bed'));
    expect(remaining).toBeGreaterThan(60_000);
    expect(remaining).toBeLessThanOrEqual(120_000);
  });

  it('hold nothing of a message that is gone', async () => {
    const { broker, partition, redis, keys } = bed;
    await useEverything();
    for (const id of ['b', toStoredId('d', 'key')])
      expect(await broker.cancel(partition, bed.nextCall(), id)).toBe('cancelled');
    await broker.trimDead(partition, { maxCount: 0 });
    const c = await broker.get(partition, 'c');
    expect(c).toMatchObject({ state: 'in-flight' });
    const settlements = [{ storedId: 'c', token: 3, outcome: { kind: 'ack' } as const }];
    expect(await broker.settle(partition, bed.nextCall(), settlements)).toEqual(['settled']);

    const { scheduled, inflight, messages, deliveries, dead, errors, keyed } = keys;
    expect(await redis.exists(scheduled, inflight, messages, deliveries, dead, errors, keyed)).toBe(0);
  });

  it('hold the due time that a message was moved to, also in its delivery record', async () => {
    const { broker, partition, redis, keys } = bed;
    await useEverything();
    const [token, delivery, attempt] = ((await redis.hget(keys.deliveries, 'b')) ?? '').split(' ');

    const moved = await broker.reschedule(partition, bed.nextCall(), 'b', { at: 1_767_268_801_000 });

    expect(moved).toBe('rescheduled');
    expect(await redis.zscore(keys.scheduled, 'b')).toBe('1767268801000');
    expect(await redis.hget(keys.deliveries, 'b')).toBe(`${token} ${delivery} ${attempt} 1767268801000`);
    expect([token, delivery, attempt]).toEqual(['0', '1', '1']);
  });

  it('hold no delivery record of a message that was moved before its first delivery', async () => {
    const { broker, partition, redis, keys } = bed;
    await broker.publish(partition, bed.nextCall(), [message('a')]);

    expect(await broker.reschedule(partition, bed.nextCall(), 'a', { at: 5 })).toBe('rescheduled');

    expect(await redis.exists(keys.deliveries)).toBe(0);
  });

  it('contain an envelope as it was published', async () => {
    const envelope = '[1767225600000,{"text":"ünï\u2028 \u{1F600}"}]';
    await bed.broker.publish(bed.partition, bed.nextCall(), [message('a', { envelope })]);

    expect(await bed.redis.hget(bed.keys.messages, 'a')).toBe(envelope);
    expect(await bed.redis.hexists(bed.keys.deliveries, 'a')).toBe(0);
    expect(await bed.broker.get(bed.partition, 'a')).toMatchObject({ envelope });
  });
});
