import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { RedisKeys } from '../../lib/broker/redis/redis-keys.js';
import { toStoredId } from '../../lib/messages/stored-id.js';
import { DEAD, LONG, RETRY_LATER, message } from '../support/contract-bench.js';
import { type RedisBench, openRedisBench } from '../support/contract-redis.js';

describe('the keys of Redis', () => {
  let bench: RedisBench;
  beforeEach(async () => {
    bench = await openRedisBench(inject('redisUrl'));
  });
  afterEach(() => bench.close());

  /** Leaves something in every key there is. */
  async function useEverything(): Promise<void> {
    const { broker, partition } = bench;
    await broker.configure(partition.topic, 8);
    await broker.join(partition.topic, 'm', LONG, [0]);
    await broker.acquire(partition, 'm', LONG);
    await broker.publish(
      partition,
      bench.nextCall(),
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
    await broker.settle(partition, bench.nextCall(), settlements);
  }

  it('are those that redis-keys.ts lists, each of the type it says', async () => {
    await useEverything();

    const tag = `{${bench.prefix}:orders:0}`;
    const topicTag = `{${bench.prefix}:orders}`;
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
      [`${tag}:answered:bench`]: 'string',
      [`${topicTag}:members`]: 'zset',
      [`${topicTag}:holdings`]: 'hash',
      [`${topicTag}:config`]: 'hash',
      [`{${bench.prefix}:topics}`]: 'zset',
    };
    const stored = await bench.storedKeys();
    const types = await Promise.all(stored.map(async (key) => [key, await bench.redis.type(key)] as const));
    expect(Object.fromEntries(types)).toEqual(expected);
  });

  it('have the names that RedisKeys gives them', async () => {
    await useEverything();
    const keys = new RedisKeys(bench.prefix);
    const { channel, ...partitionKeys } = keys.partition(bench.partition);
    const { channel: membersChannel, ...topicKeys } = keys.topic('orders');

    const named = [
      ...Object.values(partitionKeys),
      keys.answered(bench.partition, 'bench'),
      ...Object.values(topicKeys),
      keys.topics,
    ];
    expect(await bench.storedKeys()).toEqual(named.toSorted((a, b) => (a < b ? -1 : 1)));
    expect(channel).toBe(`{${bench.prefix}:orders:0}:signals`);
    expect(membersChannel).toBe(`{${bench.prefix}:orders}:changes`);
  });

  it('of one partition share a hash tag, so a cluster slot', () => {
    const { channel, ...keys } = bench.keys;
    const all = [channel, ...Object.values(keys), new RedisKeys(bench.prefix).answered(bench.partition, 'bench')];

    // What is between the first brace and the next closing one decides the slot.
    const tags = all.map((key) => /^\{([^{}]+)\}[^{}]*$/.exec(key)?.[1]);

    expect(new Set(tags)).toEqual(new Set([`${bench.prefix}:orders:0`]));
  });

  it('the owner has an end to its session', async () => {
    await bench.broker.acquire(bench.partition, 'm', LONG);

    expect(await bench.redis.get(bench.keys.owner)).toBe('m');
    const remaining = await bench.redis.pttl(bench.keys.owner);
    expect(remaining).toBeGreaterThan(LONG / 2);
    expect(remaining).toBeLessThanOrEqual(LONG);
  });

  it('the answer to a call is forgotten after two minutes, longer than it is repeated', async () => {
    await useEverything();

    const remaining = await bench.redis.pttl(new RedisKeys(bench.prefix).answered(bench.partition, 'bench'));
    expect(remaining).toBeGreaterThan(60_000);
    expect(remaining).toBeLessThanOrEqual(120_000);
  });

  it('hold nothing of a message that is gone', async () => {
    const { broker, partition, redis, keys } = bench;
    await useEverything();
    for (const id of ['b', toStoredId('d', 'key')])
      expect(await broker.cancel(partition, bench.nextCall(), id)).toBe('cancelled');
    await broker.trimDead(partition, { maxCount: 0 });
    const c = await broker.get(partition, 'c');
    expect(c).toMatchObject({ state: 'in-flight' });
    const settlements = [{ storedId: 'c', token: 3, outcome: { kind: 'ack' } as const }];
    expect(await broker.settle(partition, bench.nextCall(), settlements)).toEqual(['settled']);

    const { scheduled, inflight, messages, deliveries, dead, errors, keyed } = keys;
    expect(await redis.exists(scheduled, inflight, messages, deliveries, dead, errors, keyed)).toBe(0);
  });

  it('hold the due time that a message was moved to, also in its delivery record', async () => {
    const { broker, partition, redis, keys } = bench;
    await useEverything();
    const [token, delivery, attempt] = ((await redis.hget(keys.deliveries, 'b')) ?? '').split(' ');

    const moved = await broker.reschedule(partition, bench.nextCall(), 'b', { at: 1_767_268_801_000 });

    expect(moved).toBe('rescheduled');
    expect(await redis.zscore(keys.scheduled, 'b')).toBe('1767268801000');
    expect(await redis.hget(keys.deliveries, 'b')).toBe(`${token} ${delivery} ${attempt} 1767268801000`);
    expect([token, delivery, attempt]).toEqual(['0', '1', '1']);
  });

  it('hold no delivery record of a message that was moved before its first delivery', async () => {
    const { broker, partition, redis, keys } = bench;
    await broker.publish(partition, bench.nextCall(), [message('a')]);

    expect(await broker.reschedule(partition, bench.nextCall(), 'a', { at: 5 })).toBe('rescheduled');

    expect(await redis.exists(keys.deliveries)).toBe(0);
  });

  it('hold an envelope as it was published', async () => {
    const envelope = '[1767225600000,{"text":"ünï\u2028 \u{1F600}"}]';
    await bench.broker.publish(bench.partition, bench.nextCall(), [message('a', { envelope })]);

    expect(await bench.redis.hget(bench.keys.messages, 'a')).toBe(envelope);
    expect(await bench.redis.hexists(bench.keys.deliveries, 'a')).toBe(0);
    expect(await bench.broker.get(bench.partition, 'a')).toMatchObject({ envelope });
  });
});
