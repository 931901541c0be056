import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { type RedisBed, openRedisBed } from '../support/broker/redis-bed.js';
import {
  CONTENT,
  type ScheduleBed,
  due,
  newSchedule,
  publish,
  put,
  stored,
} from '../support/broker/stored-schedules.js';

describe('what is damaged of schedules in Redis', () => {
  let bed: RedisBed;
  /** The same for what is asked of schedules. */
  let owned: ScheduleBed;
  beforeEach(async () => {
    bed = await openRedisBed(inject('redisUrl'));
    await bed.claimant.acquire();
    const { broker, partition, nextCall, claimant } = bed;
    owned = { broker, partition, nextCall, owner: claimant.owner };
  });
  afterEach(() => bed.close());

  const look = async () => bed.broker.schedules.dueSchedules(bed.partition);

  it('an entry without a schedule is removed, and counted', async () => {
    await due(owned);
    await bed.redis.zadd(bed.keys.occurrences, 1, 'orphan');

    expect(await look()).toMatchObject({ repaired: 1, due: [{ id: 'tick' }] });
    expect(await look()).toMatchObject({ repaired: 0, due: [{ id: 'tick' }] });
  });

  it('an entry with an earlier time than its schedule says gets that time', async () => {
    await due(owned, 'tick', 9_000_000_000_000);
    await bed.redis.zadd(bed.keys.occurrences, 1, 'tick');

    expect(await look()).toMatchObject({ repaired: 1, due: [], nextAt: 9_000_000_000_000 });
    expect(await look()).toMatchObject({ repaired: 0, due: [], nextAt: 9_000_000_000_000 });
  });

  it.each([
    ['was removed', async () => bed.redis.zrem(bed.keys.occurrences, 'tick')],
    ['was put off', async () => bed.redis.zadd(bed.keys.occurrences, 9_000_000_000_000, 'tick')],
    ['was put off for ever', async () => bed.redis.zadd(bed.keys.occurrences, 'inf', 'tick')],
  ])('an entry that %s is there again', async (_, spoil) => {
    await due(owned);
    await spoil();

    expect(await look()).toMatchObject({ repaired: 1 });
    expect(await look()).toMatchObject({ repaired: 0, due: [{ id: 'tick' }] });
  });

  it('one that was removed among many is found by a few looks', async () => {
    for (let i = 0; i < 10; i++) await due(owned, `number ${i}`);
    await bed.redis.zrem(bed.keys.occurrences, 'number 7');

    // Each look tries 3 of 10: that 200 miss it has a chance of 1 to 10^30.
    let looks = 0;
    while ((await look()).repaired === 0) expect(++looks).toBeLessThan(200);
    expect((await look()).due).toHaveLength(10);
  });

  it('a schedule that has no next time keeps it', async () => {
    await due(owned);
    await put(owned, newSchedule('none', undefined));
    expect(await look()).toMatchObject({ repaired: 0, due: [{ id: 'tick' }], nextAt: undefined });
  });

  it.each(['', 'garbage', 'garbage\n{}\n[1]', 'r active soon - 0\n{}\n[1]', `${'9'.repeat(400)}\n`])(
    'a record that nobody can read is set aside, and holds up no other: %j',
    async (record) => {
      await due(owned, 'other');
      await bed.redis.hset(bed.keys.schedules, 'tick', record);
      await bed.redis.zadd(bed.keys.occurrences, 1, 'tick');

      expect(await look()).toMatchObject({ damaged: ['tick'], due: [{ id: 'other' }] });
      expect(await look()).toMatchObject({ damaged: [], due: [{ id: 'other' }] });
    },
  );

  it('a schedule whose id is no text is set aside', async () => {
    const id = Buffer.from([0xff, 0xfe]);
    await bed.redis.hset(bed.keys.schedules, id, 'r active 5 - 0\n{}\n[1]');
    await bed.redis.zadd(bed.keys.occurrences, 1, id);

    expect((await look()).damaged).toHaveLength(1);
    expect(await look()).toMatchObject({ damaged: [], due: [], nextAt: undefined });
  });

  it('a record that another program has changed is not published as it was seen', async () => {
    const expected = await due(owned);
    await bed.redis.hset(bed.keys.schedules, 'tick', 'another 5 - 0\n{}\n[1]');

    expect(await publish(owned, { expected })).toEqual({ status: 'changed' });
    expect((await bed.broker.messages.stats(bed.partition)).scheduled).toBe(0);
  });

  it('an envelope that is none becomes a message that dies as damaged, and the schedule goes on', async () => {
    const expected = await due(owned);
    const record = (await bed.redis.hget(bed.keys.schedules, 'tick')) ?? '';
    await bed.redis.hset(bed.keys.schedules, 'tick', record.replace(CONTENT.envelope, 'no envelope'));

    expect(await publish(owned, { expected })).toMatchObject({ status: 'published' });
    expect((await bed.claimant.claim()).messages).toMatchObject([{ envelope: 'no envelope' }]);
    expect(await stored(owned)).toMatchObject({ nextAt: 2000 });
  });
});
