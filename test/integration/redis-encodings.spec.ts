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
