import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import type { ClaimedMessage } from '../../lib/store/deliveries/claim.js';
import type { Outcome } from '../../lib/store/deliveries/settle.js';
import { ACK, RETRY, message } from '../support/broker/broker-bed.js';
import { type RedisBed, openRedisBed } from '../support/broker/redis-bed.js';

/** Numbers of messages with which a claim leaves the compact encoding of small sets, or keeps it. */
const MANY = 40;
const FEW = 5;

function idsOf(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `id ${i}`);
}

describe('how Redis keeps what is in flight', () => {
  let bed: RedisBed;
  beforeEach(async () => {
    bed = await openRedisBed(inject('redisUrl'));
    await bed.claimant.acquire();
  });
  afterEach(() => bed.close());

  async function publish(ids: readonly string[]): Promise<void> {
    const { broker, partition, nextCall } = bed;
    await broker.messages.publish(
      partition,
      nextCall(),
      ids.map((id) => message(id)),
    );
  }

  async function claim(max = 200): Promise<ClaimedMessage[]> {
    return (await bed.claimant.claim({ max })).messages;
  }

  async function settle(messages: readonly ClaimedMessage[], outcome: Outcome): Promise<void> {
    const settlements = messages.map(({ storedId, token }) => ({ storedId, token, outcome }));
    await bed.broker.deliveries.settle(bed.partition, bed.nextCall(), settlements);
  }

  async function encodings(): Promise<unknown[]> {
    const { redis, keys } = bed;
    return Promise.all([keys.inflight, keys.deliveries].map((key) => redis.object('ENCODING', key)));
  }

  it('becomes a table with a large claim, and contains only the deliveries', async () => {
    const ids = idsOf(MANY);
    await publish(ids);
    const claimed = await claim();

    expect(await encodings()).toEqual(['skiplist', 'hashtable']);
    expect((await bed.redis.zrange(bed.keys.inflight, '0', '-1')).toSorted()).toEqual(ids.toSorted());
    expect((await bed.redis.hkeys(bed.keys.deliveries)).toSorted()).toEqual(ids.toSorted());

    await settle(claimed, ACK);
    expect(await bed.redis.exists(bed.keys.inflight, bed.keys.deliveries, bed.keys.messages)).toBe(0);
  });

  it('stays compact if claims are small', async () => {
    await publish(idsOf(FEW));
    await claim();

    const [ofInflight, ofDeliveries] = await encodings();
    expect(ofInflight).not.toBe('skiplist');
    expect(ofDeliveries).not.toBe('hashtable');
  });

  it('has the data of a failed message, however many others are in flight', async () => {
    await publish(['failed']);
    const failed = await claim();
    await publish(idsOf(MANY));
    await claim(MANY / 2);
    await settle(failed, RETRY);
    const rest = await claim();
    // A retry is due at the next millisecond.
    while (!rest.some(({ storedId }) => storedId === 'failed')) rest.push(...(await claim()));

    expect(rest.find(({ storedId }) => storedId === 'failed')).toMatchObject({ delivery: 2, attempt: 2 });
    expect(rest).toHaveLength(MANY / 2 + 1);
    expect(rest.filter(({ storedId }) => storedId !== 'failed').every(({ attempt }) => attempt === 1)).toBe(true);
  });
});

describe('how Redis keeps what was published', () => {
  let bed: RedisBed;
  beforeEach(async () => {
    bed = await openRedisBed(inject('redisUrl'));
  });
  afterEach(() => bed.close());

  /** Two messages of each key, with a tag. */
  async function publish(count: number, order?: 'continue'): Promise<string[]> {
    const ids = idsOf(count).map((id, i) => `${id}\0key ${i % (count / 2)}`);
    const messages = ids.map((id) => message(id, { onDuplicate: 'impossible', tags: order && ['tag'] }));
    await bed.broker.messages.publish(bed.partition, bed.nextCall(), messages, { order });
    return ids.toSorted();
  }

  async function encodings(...keys: string[]): Promise<unknown[]> {
    return Promise.all(keys.map((key) => bed.redis.object('ENCODING', key)));
  }

  it('becomes tables with a large call, and contains only the messages', async () => {
    const { redis, keys } = bed;
    const ids = await publish(MANY);

    expect(await encodings(keys.scheduled, keys.keyed)).toEqual(['skiplist', 'skiplist']);
    expect((await redis.zrange(keys.scheduled, '0', '-1')).toSorted()).toEqual(ids);
    expect((await redis.zrange(keys.keyed, '0', '-1')).toSorted()).toEqual(ids);
  });

  it('has those in `keyed` that have keys of their own', async () => {
    const ids = idsOf(MANY).map((id, i) => (i % 3 === 0 ? id : `${id}\0key`));
    await bed.broker.messages.publish(
      bed.partition,
      bed.nextCall(),
      ids.map((id) => message(id, { onDuplicate: 'impossible' })),
    );

    expect(await bed.redis.zrange(bed.keys.keyed, '0', '-1')).toEqual(ids.filter((id) => id.includes('\0')).toSorted());
  });

  it('does so with its order and its tags', async () => {
    const { redis, keys } = bed;
    const ids = await publish(MANY, 'continue');
    const [scheduled, blocked] = await Promise.all(
      [keys.scheduled, keys.blocked].map((key) => redis.zrange(key, '0', '-1')),
    );

    expect(await encodings(keys.scheduled, keys.blocked, keys.keyed, keys.tagged)).toEqual(Array(4).fill('skiplist'));
    expect(await encodings(keys.places, keys.tags)).toEqual(['hashtable', 'hashtable']);
    expect([...(scheduled ?? []), ...(blocked ?? [])].toSorted()).toEqual(ids);
    expect((await redis.hkeys(keys.tags)).toSorted()).toEqual(ids);
    expect((await redis.zrange(keys.tagged, '0', '-1')).toSorted()).toEqual(ids.map((id) => `tag\0${id}`));
    expect(
      (await redis.hkeys(keys.places)).filter((field) => !/^(?:place|head):|^(?:mode|arrivals)$/.test(field)),
    ).toEqual([]);
    expect(await redis.zcard(keys.queues)).toBe(MANY / 2);
  });

  it('stays compact if calls are small', async () => {
    await publish(4, 'continue');
    const { scheduled, places, tags } = bed.keys;

    const [ofScheduled, ofPlaces, ofTags] = await encodings(scheduled, places, tags);
    expect(ofScheduled).not.toBe('skiplist');
    expect([ofPlaces, ofTags]).not.toContain('hashtable');
  });
});
