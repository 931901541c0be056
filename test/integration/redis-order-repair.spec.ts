import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import type { ClaimedMessage } from '../../lib/store/deliveries/claim.js';
import type { TopicOrder } from '../../lib/store/fleet/topic-config.js';
import type { NewMessage } from '../../lib/store/messages/publish.js';
import { ACK, DEAD, FAILURE, LONG, LONG_AGO, RETRY_LATER, message } from '../support/broker/broker-bed.js';
import { type RedisBed, openRedisBed } from '../support/broker/redis-bed.js';

/** Stored ids of one key, in the order in which they are published. */
const LINE = ['d\0k', 'c\0k', 'b\0k', 'a\0k'];
const [HEAD, SECOND] = LINE as [string, string];

/** One of them in each claim. */
const inTurn = (...ids: string[]): string[][] => ids.map((id) => [id]);

describe('what is damaged of the order in Redis', () => {
  let bed: RedisBed;
  beforeEach(async () => {
    bed = await openRedisBed(inject('redisUrl'));
    await bed.claimant.acquire();
  });
  afterEach(() => bed.close());

  async function publish(ids: readonly string[], fields: Partial<NewMessage> = {}, order: TopicOrder = 'continue') {
    const messages = ids.map((id) => message(id, fields));
    await bed.broker.messages.publish(bed.partition, bed.nextCall(), messages, { order });
  }

  async function ack(messages: readonly ClaimedMessage[]): Promise<void> {
    const settlements = messages.map(({ storedId, token }) => ({ storedId, token, outcome: ACK }));
    await bed.broker.deliveries.settle(bed.partition, bed.nextCall(), settlements);
  }

  /** Claims and acknowledges until nothing is due any more; what one claim brings is one entry. */
  async function handled(): Promise<string[][]> {
    const claims: string[][] = [];
    for (;;) {
      const { messages, nextAt = Infinity } = await bed.claimant.claim();
      if (messages.length === 0 && nextAt > LONG_AGO) return claims;
      if (messages.length === 0) continue;
      claims.push(messages.map(({ storedId }) => storedId));
      await ack(messages);
    }
  }

  async function nothingIsLeft(): Promise<void> {
    const { scheduled, blocked, inFlight } = await bed.broker.messages.stats(bed.partition);
    expect({ scheduled, blocked, inFlight }).toEqual({ scheduled: 0, blocked: 0, inFlight: 0 });
  }

  it('a head that is gone: the next one takes its place', async () => {
    await publish(LINE);
    await bed.redis.zrem(bed.keys.scheduled, HEAD);

    // The claim that finds it hands nothing out yet, and says that something is due.
    const found = await bed.claimant.claim();
    expect(found).toMatchObject({ messages: [], repaired: 1, nextAt: LONG_AGO });
    expect(await handled()).toEqual(inTurn(...LINE.slice(1)));
  });

  it('the record of a head that has begun cannot be read: nothing overtakes it', async () => {
    await publish(LINE);
    const { messages } = await bed.claimant.claim();
    const settlements = messages.map(({ storedId, token }) => ({ storedId, token, outcome: RETRY_LATER }));
    await bed.broker.deliveries.settle(bed.partition, bed.nextCall(), settlements);
    await bed.redis.hset(bed.keys.deliveries, HEAD, 'x');
    await publish(['e\0k']);

    expect(await handled()).toEqual([]);
  });

  it('the envelope of a head is gone: the next one takes its place', async () => {
    await publish(LINE);
    await bed.redis.hdel(bed.keys.messages, HEAD);

    expect(await bed.claimant.claim()).toMatchObject({ messages: [], repaired: 1 });
    expect(await handled()).toEqual(inTurn(...LINE.slice(1)));
  });

  it.each(['queues', 'places'] as const)('all of `%s` is gone: nothing is lost', async (key) => {
    await publish(LINE);
    await publish(['other', 'z\0other']);
    await bed.redis.del(bed.keys[key]);

    // Some of them may come before their turn, or beside each other.
    expect((await handled()).flat().toSorted()).toEqual([...LINE, 'other', 'z\0other'].toSorted());
    await nothingIsLeft();
  });

  it('a place is gone: its message is placed anew', async () => {
    await publish(LINE);
    await bed.redis.hdel(bed.keys.places, `place:${SECOND}`);

    expect((await handled()).flat().toSorted()).toEqual(LINE.toSorted());
    await nothingIsLeft();
  });

  it.each(['inf', '-inf', '5'])('an entry in `queues` has the score %s, which no range gets past', async (score) => {
    await publish(LINE);
    await bed.redis.zadd(bed.keys.queues, score, '');
    await bed.redis.zadd(bed.keys.queues, score, 'zzz');

    expect((await handled()).flat().toSorted()).toEqual(LINE.toSorted());
    await nothingIsLeft();
  });

  it('foreign entries are in a queue: they are passed over in time', async () => {
    await publish(LINE);
    const foreign = Array.from({ length: 35 }, (_, i) => [0, `k\0${String(i).padStart(32, '0')}foreign`]).flat();
    await bed.redis.zadd(bed.keys.queues, ...foreign, 0, 'k\0', 0, 'k\0short');

    expect((await handled()).flat().toSorted()).toEqual(LINE.toSorted());
    await nothingIsLeft();
  });

  it.each([
    { what: 'is no time', place: 'x'.repeat(32) },
    { what: 'has no digits', place: '' },
    { what: 'is of another due time', place: '1'.padStart(16, '0') + '2'.padStart(16, '0') },
  ])('the place in a queue $what: nothing is lost', async ({ place }) => {
    await publish(LINE.slice(0, 2));
    const [entry = ''] = await bed.redis.zrange(bed.keys.queues, '0', '-1');
    await bed.redis.zrem(bed.keys.queues, entry);
    await bed.redis.zadd(bed.keys.queues, 0, `k\0${place}${SECOND}`);

    expect(await handled()).toEqual(inTurn(HEAD, SECOND));
    await nothingIsLeft();
  });

  it('the next one of a queue is not blocked, and something else is: it comes all the same', async () => {
    await publish(LINE.slice(0, 2));
    const { messages } = await bed.claimant.claim();
    await bed.redis.zrem(bed.keys.blocked, SECOND);
    await bed.redis.zadd(bed.keys.blocked, LONG_AGO, 'nothing');
    await ack(messages);

    expect(await handled()).toEqual([[SECOND]]);
  });

  it('the next one of a queue is no message, and something else is blocked: the one behind it comes', async () => {
    await publish(LINE.slice(0, 2));
    const { messages } = await bed.claimant.claim();
    await bed.redis.zadd(bed.keys.queues, 0, `k\0${'0'.repeat(32)}nothing\0k`);
    await bed.redis.zadd(bed.keys.blocked, LONG_AGO, 'nothing');
    await ack(messages);

    expect(await handled()).toEqual([[SECOND]]);
    await nothingIsLeft();
  });

  it('a head is gone while deliveries share a record: the next one takes its place', async () => {
    await publish(['other']);
    await bed.claimant.claim({ sharesFrom: 1 });
    await publish([HEAD]);
    await bed.redis.zrem(bed.keys.scheduled, HEAD);
    await publish([SECOND]);

    expect(await bed.claimant.claim()).toMatchObject({ messages: [], repaired: 1, nextAt: LONG_AGO });
    expect(await handled()).toEqual([[SECOND]]);
  });

  it('a message in flight is said to be blocked: it is not delivered twice', async () => {
    await publish([HEAD]);
    await bed.claimant.claim({ sharesFrom: 1 });
    await bed.redis.zadd(bed.keys.blocked, LONG_AGO, HEAD);

    expect(await handled()).toEqual([]);
  });

  it('an entry of `blocked` is no message, or one of another state: it is removed', async () => {
    await publish(LINE);
    await publish(['later'], { due: { after: LONG } });
    await bed.redis.zadd(bed.keys.blocked, LONG_AGO, 'nothing', '-inf', 'later', 'inf', HEAD);

    expect(await handled()).toEqual(inTurn(...LINE));
    for (let claims = 0; claims < 20; claims++) await bed.claimant.claim();
    expect(await bed.redis.zrange(bed.keys.blocked, '0', '-1')).toEqual([]);
    expect(await bed.redis.zrange(bed.keys.scheduled, '0', '-1')).toEqual(['later']);
  });

  it('the head of a key is said to be a message of another key: it keeps nothing waiting', async () => {
    await publish(['later'], { due: { after: LONG } });
    await bed.redis.hset(bed.keys.places, 'head:k', 'later');
    await publish(LINE);

    expect(await handled()).toEqual(inTurn(...LINE));
  });

  it.each(['', 'x', '0', '-5', '1.5', '1e300', '9'.repeat(18), 'nan'])(
    'the number of those that were placed is %j: it begins anew, and no key stands still',
    async (arrivals) => {
      await publish(LINE.slice(0, 2));
      await bed.redis.hset(bed.keys.places, 'arrivals', arrivals);
      await publish(LINE.slice(2));

      expect((await handled()).flat().toSorted()).toEqual(LINE.toSorted());
      await nothingIsLeft();
    },
  );

  it.each(['', 'x', '1', '0 0', '1 -1', `${'9'.repeat(30)} 0`, '5 999'])(
    'the place of a head is %j: what is due earlier comes before it or behind it, and its time stays',
    async (place) => {
      await publish([HEAD], { due: { after: LONG } });
      const before = await bed.broker.messages.get(bed.partition, HEAD);
      await bed.redis.hset(bed.keys.places, `place:${HEAD}`, place);
      await publish([SECOND], { due: { after: LONG / 2 } });

      expect(await bed.broker.messages.get(bed.partition, HEAD)).toMatchObject({ state: 'scheduled', at: before?.at });
      const { scheduled, blocked } = await bed.broker.messages.stats(bed.partition);
      expect({ scheduled, blocked }).toEqual({ scheduled: 2, blocked: 1 });
    },
  );

  it('its mode is no mode: dead letters keep no key', async () => {
    await publish(LINE);
    await bed.redis.hset(bed.keys.places, 'mode', 'banana');
    const [claimed] = (await bed.claimant.claim({ max: 1 })).messages;
    await bed.broker.deliveries.settle(bed.partition, bed.nextCall(), [
      { storedId: HEAD, token: claimed?.token ?? '', outcome: DEAD },
    ]);

    expect(await handled()).toEqual(inTurn(...LINE.slice(1)));
  });

  it('an id that is no text leads a key that it blocks: it is a dead letter of another name, and the key goes on', async () => {
    const bytes = Buffer.from([0x61, 0xff, 0x00, 0x6b]);
    await bed.redis.hset(bed.keys.messages, bytes as unknown as string, '[1,2]');
    await bed.redis.zadd(bed.keys.scheduled, LONG_AGO - 1, bytes);
    await bed.redis.hset(bed.keys.places, 'head:k', bytes);
    await publish([HEAD], {}, 'block');
    const [claimed] = (await bed.claimant.claim({ max: 1 })).messages;
    const receipt = { storedId: claimed?.storedId ?? '', token: claimed?.token ?? '' };
    expect(await bed.broker.deliveries.setAside(bed.partition, receipt, FAILURE)).toBe('a\\xFF\0k');

    expect((await bed.claimant.claim()).messages).toMatchObject([{ storedId: HEAD }]);
  });
});
