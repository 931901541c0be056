import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { epochOf } from '../../lib/store/fleet/owner.js';
import type { NewMessage } from '../../lib/store/messages/publish.js';
import { StoreKeys } from '../../lib/store/keys.js';
import { toStoredId } from '../../lib/messages/stored-id.js';
import { Claimant } from '../support/broker/claimant.js';
import { DEAD, LONG, LONG_AGO, RETRY_LATER, message } from '../support/broker/broker-bed.js';
import { type RedisBed, openRedisBed } from '../support/broker/redis-bed.js';
import { newSchedule } from '../support/broker/stored-schedules.js';

/** A partition whose keys have limits. */
const LIMITED = { topic: 'orders', index: 1 };

/** In place of what a process draws to name its calls. */
const PROCESS = '<uuid>';
const nameOf = (key: string): string => key.replace(/(?<=:answered:)[\da-f-]{36}/, PROCESS);

describe('the keys of Redis', () => {
  let bed: RedisBed;
  beforeEach(async () => {
    bed = await openRedisBed(inject('redisUrl'));
  });
  afterEach(() => bed.close());

  /** Writes something to every key. */
  async function useEverything(): Promise<void> {
    const { broker, partition } = bed;
    await broker.fleet.configure(partition.topic, 8);
    await broker.fleet.setTerms(partition.topic, {});
    await bed.claimant.acquire();
    await broker.fleet.heartbeat({ session: 'm', count: 1, length: 60_000, digest: 'd' });
    await broker.fleet.rememberTopics({ digest: 'd', topics: ['orders'] });
    const state = { since: 1, version: '1', clockOffset: 0, concurrency: 3, busy: 0, waiting: 0 };
    await broker.records.report({ session: 'm', number: 1, state, holdings: { orders: [0] } });
    await broker.messages.publish(
      partition,
      bed.nextCall(),
      ['0', 'a', 'b', 'c', toStoredId('d', 'key'), toStoredId('e', 'key')].map((id) => message(id, { tags: ['x'] })),
      { order: 'continue' },
    );
    const finished = { maxAge: LONG };
    await bed.claimant.claim({ max: 1, lease: 0, finished });
    const [a, b] = (await bed.claimant.claim({ max: 3, finished })).messages;
    if (!a || !b) throw new Error('three were claimed');
    const settlements = [
      { storedId: a.storedId, token: a.token, outcome: DEAD },
      { storedId: b.storedId, token: b.token, outcome: RETRY_LATER },
    ];
    await broker.deliveries.settle(partition, bed.nextCall(), settlements);
    await broker.schedules.indexSchedule({ id: 'tick', topic: 'orders', key: 'tick' });
    await broker.schedules.putSchedule(partition, bed.nextCall(), newSchedule('tick', LONG_AGO));
  }

  /** Writes something to every key that limits need, in another partition and for the topic. */
  async function useLimits(): Promise<void> {
    const { broker, nextCall } = bed;
    const claimant = new Claimant(broker, LIMITED);
    await claimant.acquire();
    await broker.messages.publish(LIMITED, nextCall(), [message('shared')]);
    await claimant.claim({ sharesFrom: 1 });
    await broker.messages.publish(LIMITED, nextCall(), [message(toStoredId('a', 'key'))]);
    await claimant.claim({ keyLimits: { inFlight: 1 } });
    const rate = { max: 1, per: LONG };
    const ofAnother = ['b', 'c'].map((id) => message(toStoredId(id, 'another')));
    await broker.messages.publish(LIMITED, nextCall(), ofAnother);
    await claimant.claim({ keyLimits: { rate } });
    await broker.deliveries.permit('orders', {
      session: 'm',
      sequence: 1,
      limits: { rate },
      held: 0,
      idle: 0,
      wanted: 1,
      lease: LONG,
      patience: LONG,
      returned: [],
    });
  }

  it('are those that redis-keys.ts lists, each of the type it says', async () => {
    await useEverything();
    await useLimits();

    const tag = `{${bed.prefix}:orders:0}`;
    const limitedTag = `{${bed.prefix}:orders:1}`;
    const topicTag = `{${bed.prefix}:orders}`;
    const fleetTag = `{${bed.prefix}:fleet}`;
    const expected: Readonly<Record<string, string>> = {
      [`${tag}:scheduled`]: 'zset',
      [`${tag}:inflight`]: 'zset',
      [`${tag}:messages`]: 'hash',
      [`${tag}:deliveries`]: 'hash',
      [`${tag}:dead`]: 'zset',
      [`${tag}:errors`]: 'hash',
      [`${tag}:keyed`]: 'zset',
      [`${tag}:blocked`]: 'zset',
      [`${tag}:queues`]: 'zset',
      [`${tag}:places`]: 'hash',
      [`${tag}:finished`]: 'zset',
      [`${tag}:endings`]: 'hash',
      [`${tag}:tags`]: 'hash',
      [`${tag}:tagged`]: 'zset',
      [`${tag}:handed`]: 'string',
      [`${tag}:owner`]: 'string',
      [`${tag}:meta`]: 'hash',
      [`${tag}:answered:bed`]: 'string',
      [`${tag}:schedules`]: 'hash',
      [`${tag}:occurrences`]: 'zset',
      [`${limitedTag}:inflight`]: 'zset',
      [`${limitedTag}:claims`]: 'hash',
      [`${limitedTag}:messages`]: 'hash',
      [`${limitedTag}:deliveries`]: 'hash',
      [`${limitedTag}:keyed`]: 'zset',
      [`${limitedTag}:blocked`]: 'zset',
      [`${limitedTag}:queues`]: 'zset',
      [`${limitedTag}:places`]: 'hash',
      [`${limitedTag}:owner`]: 'string',
      [`${limitedTag}:meta`]: 'hash',
      [`${limitedTag}:answered:bed`]: 'string',
      [`${limitedTag}:running`]: 'zset',
      [`${limitedTag}:rates`]: 'hash',
      [`${limitedTag}:rated`]: 'zset',
      [`${limitedTag}:resting`]: 'zset',
      [`${topicTag}:config`]: 'hash',
      [`${topicTag}:permits`]: 'string',
      [`${topicTag}:answered:${PROCESS}`]: 'string',
      [`${fleetTag}:sessions`]: 'hash',
      [`${fleetTag}:handled`]: 'hash',
      [`${fleetTag}:topics`]: 'hash',
      [`${fleetTag}:processes`]: 'hash',
      [`${fleetTag}:holdings`]: 'hash',
      [`${fleetTag}:schedules`]: 'hash',
      [`${fleetTag}:answered:${PROCESS}:orders`]: 'string',
      [`${fleetTag}:answered:${PROCESS}:tick`]: 'string',
    };
    const stored = await bed.storedKeys();
    const types = await Promise.all(stored.map(async (key) => [nameOf(key), await bed.redis.type(key)] as const));
    expect(Object.fromEntries(types)).toEqual(expected);
  });

  it('have the names that StoreKeys gives them', async () => {
    await useEverything();
    await useLimits();
    const keys = new StoreKeys(bed.prefix);
    const { channel, ...partitionKeys } = keys.partition(bed.partition);
    const { channel: fleetChannel, ...fleetKeys } = keys.fleet;
    const limitedKeys = Object.values(keys.partition(LIMITED));

    const named = [
      ...Object.values(partitionKeys),
      keys.answered(bed.partition, 'bed'),
      keys.answered(LIMITED, 'bed'),
      ...Object.values(keys.topic('orders')),
      keys.answeredOfTopic('orders', PROCESS),
      ...Object.values(fleetKeys),
      keys.answeredOfFleet(`${PROCESS}:orders`),
      keys.answeredOfFleet(`${PROCESS}:tick`),
    ];
    const stored = (await bed.storedKeys()).map(nameOf);
    const isNamed = (key: string): boolean => named.includes(key) || limitedKeys.includes(key);
    expect(stored.filter((key) => !isNamed(key))).toEqual([]);
    // What an ordered partition never has, the limited one does.
    const used = (key: string): boolean => stored.includes(key) || stored.includes(key.replace(':0}', ':1}'));
    expect(named.filter((key) => !used(key))).toEqual([]);
    expect(channel).toBe(`{${bed.prefix}:orders:0}:signals`);
    expect(fleetChannel).toBe(`{${bed.prefix}:fleet}:signals`);
    expect(keys.sessionChannel('m')).toBe(`{${bed.prefix}:fleet}:signals:m`);
  });

  it('of one partition share a hash tag, so a cluster slot', () => {
    const { channel, ...keys } = bed.keys;
    const all = [channel, ...Object.values(keys), new StoreKeys(bed.prefix).answered(bed.partition, 'bed')];

    // The text between the first brace and the next closing one decides the slot.
    const tags = all.map((key) => /^\{([^{}]+)\}[^{}]*$/.exec(key)?.[1]);

    expect(new Set(tags)).toEqual(new Set([`${bed.prefix}:orders:0`]));
  });

  it('keep the owner for ever, and its epoch when it has released', async () => {
    const { broker, partition, redis, keys, claimant } = bed;
    await claimant.acquire();

    expect(await redis.get(keys.owner)).toBe(claimant.owner);
    expect(await redis.pttl(keys.owner)).toBe(-1);
    await broker.fleet.release(partition, claimant.owner);
    expect(await redis.get(keys.owner)).toBe(epochOf(claimant.owner));
    expect(await redis.pttl(keys.owner)).toBe(-1);
  });

  it('hold the token of a delivery in its record, and the latest claim', async () => {
    const { redis, keys, claimant } = bed;
    await useEverything();
    await claimant.claim();

    expect(await redis.hget(keys.deliveries, 'c')).toBe(`${claimant.token(4)} 1 1 ${LONG_AGO}`);
    const latest = `${epochOf(claimant.owner)} 3 5`;
    expect(await redis.hmget(keys.meta, 'claim', 'delivered')).toEqual([latest, '5']);
  });

  it('are those of one thing, whatever the names of topics', () => {
    const keys = new StoreKeys('dq');
    const topics = ['fleet', 'probe', 'events', 'topics', 'a', 'a:1', 'fleet:0', 'fleet:0:signals'];
    const all = [
      keys.probe(0),
      keys.events,
      ...Object.values(keys.fleet),
      ...['m', '0'].map((session) => keys.sessionChannel(session)),
      ...topics.flatMap((topic) => [
        ...Object.values(keys.topic(topic)),
        ...[0, 1].flatMap((index) => Object.values(keys.partition({ topic, index }))),
      ]),
    ];

    expect(all.filter((key, i) => all.indexOf(key) !== i)).toEqual([]);
  });

  it('the owner loses an end that it had', async () => {
    const { broker, redis, partition, keys, claimant } = bed;
    await redis.set(keys.owner, 'host:1:protocol-1', 'PX', 60_000);
    expect(await broker.fleet.acquire(partition, claimant.owner, 'host:1:protocol-1')).toEqual({ acquired: true });
    expect([await redis.get(keys.owner), await redis.pttl(keys.owner)]).toEqual([claimant.owner, -1]);

    await redis.pexpire(keys.owner, 60_000);
    await claimant.acquire();
    expect(await redis.pttl(keys.owner)).toBe(-1);
  });

  it('the answer to a call expires after two minutes, longer than repeats take', async () => {
    await useEverything();

    const remaining = await bed.redis.pttl(new StoreKeys(bed.prefix).answered(bed.partition, 'bed'));
    expect(remaining).toBeGreaterThan(60_000);
    expect(remaining).toBeLessThanOrEqual(120_000);
  });

  it('hold nothing of a message that is gone', async () => {
    const { broker, partition, redis, keys } = bed;
    await useEverything();
    for (const id of ['b', toStoredId('d', 'key'), toStoredId('e', 'key')])
      expect(await broker.messages.cancel(partition, bed.nextCall(), id)).toBe('cancelled');
    await broker.deadLetters.trimDead(partition, { maxCount: 0 });
    const c = await broker.messages.get(partition, 'c');
    expect(c).toMatchObject({ state: 'in-flight' });
    const settlements = [{ storedId: 'c', token: bed.claimant.token(4), outcome: { kind: 'ack' } as const }];
    expect(await broker.deliveries.settle(partition, bed.nextCall(), settlements)).toEqual(['settled']);

    expect(await broker.schedules.removeSchedule(partition, bed.nextCall(), 'tick')).toBe(true);

    // An owner that keeps nothing of what has ended, after one that has promised nothing in time.
    await bed.claimant.claim({ max: 0, finished: { maxCount: 9 } });
    await bed.claimant.claim();
    await broker.deadLetters.trimFinished(partition);

    const { owner, meta, places, handed, channel: _channel, ...ofMessages } = keys;
    const stored = await bed.storedKeys();
    expect(stored.filter((key) => Object.values(ofMessages).includes(key))).toEqual([]);
    expect((await redis.hkeys(places)).toSorted()).toEqual(['arrivals', 'mode']);
    expect(await redis.exists(owner, meta)).toBe(2);
    // For a repeat of the claim.
    expect(await redis.pttl(handed)).toBeGreaterThan(0);
  });

  it('hold the due time that a message was moved to, also in its delivery record', async () => {
    const { broker, partition, redis, keys } = bed;
    await useEverything();
    const [token, delivery, attempt] = ((await redis.hget(keys.deliveries, 'b')) ?? '').split(' ');

    const moved = await broker.messages.reschedule(partition, bed.nextCall(), 'b', { at: 1_767_268_801_000 });

    expect(moved).toBe('moved');
    expect(await redis.zscore(keys.scheduled, 'b')).toBe('1767268801000');
    expect(await redis.hget(keys.deliveries, 'b')).toBe(`${token} ${delivery} ${attempt} 1767268801000`);
    expect([token, delivery, attempt]).toEqual(['0', '1', '1']);
  });

  it('hold no delivery record of a message that was moved before its first delivery', async () => {
    const { broker, partition, redis, keys } = bed;
    await broker.messages.publish(partition, bed.nextCall(), [message('a')]);

    expect(await broker.messages.reschedule(partition, bed.nextCall(), 'a', { at: 5 })).toBe('moved');

    expect(await redis.exists(keys.deliveries)).toBe(0);
  });

  it('hold the first publish of a message with a longest wait in its delivery record, until it is delivered or gone', async () => {
    const { broker, partition, redis, keys, claimant } = bed;
    await claimant.acquire();
    const publish = async (fields: Partial<NewMessage>): Promise<number> => {
      const [result] = await broker.messages.publish(partition, bed.nextCall(), [
        message('a', { due: { after: LONG }, onDuplicate: 'replace', ...fields }),
      ]);
      return result?.dueAt ?? NaN;
    };
    const record = (): Promise<string | null> => redis.hget(keys.deliveries, 'a');

    const dueAt = await publish({ maxWait: 1000 });
    const first = dueAt - 1000;
    expect(await record()).toBe(`f${first} 0 0 0 ${dueAt}`);
    const freeAt = await publish({});
    expect(await record()).toBe(`f${first} 0 0 0 ${freeAt}`);
    await broker.messages.reschedule(partition, bed.nextCall(), 'a', { at: 5 });
    expect(await record()).toBe(`f${first} 0 0 0 5`);
    await claimant.claim();
    expect(await record()).toBe(`${claimant.token(1)} 1 1 5`);

    const again = await publish({ maxWait: 1000 });
    expect(await record()).toBe(`r${again}f${again - 1000} ${claimant.token(1)} 1 1 5`);
    await broker.deliveries.settle(partition, bed.nextCall(), [
      { storedId: 'a', token: claimant.token(1), outcome: { kind: 'release' } },
    ]);
    expect(await record()).toBe(`f${again - 1000} 0 0 0 ${again}`);
    await broker.messages.cancel(partition, bed.nextCall(), 'a');
    expect(await redis.exists(keys.deliveries)).toBe(0);
  });

  it('contain an envelope as it was published', async () => {
    const envelope = '[1767225600000,{"text":"ünï\u2028 \u{1F600}"}]';
    await bed.broker.messages.publish(bed.partition, bed.nextCall(), [message('a', { envelope })]);

    expect(await bed.redis.hget(bed.keys.messages, 'a')).toBe(envelope);
    expect(await bed.redis.hexists(bed.keys.deliveries, 'a')).toBe(0);
    expect(await bed.broker.messages.get(bed.partition, 'a')).toMatchObject({ envelope });
  });
});
