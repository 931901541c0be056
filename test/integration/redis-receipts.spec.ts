import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import type { ClaimedMessage } from '../../lib/store/deliveries/claim.js';
import type { Outcome } from '../../lib/store/deliveries/settle.js';
import { epochOf, ownerOf } from '../../lib/store/fleet/owner.js';
import { ACK, DEAD, LONG, message } from '../support/broker/broker-bed.js';
import { type RedisBed, openRedisBed, serverTime, serverTimeReaches } from '../support/broker/redis-bed.js';

describe('a receipt is never valid twice', () => {
  let bed: RedisBed;
  beforeEach(async () => {
    bed = await openRedisBed(inject('redisUrl'));
    await bed.claimant.acquire();
  });
  afterEach(() => bed.close());

  async function publish(...ids: string[]): Promise<void> {
    const messages = ids.map((id) => message(id));
    await bed.broker.messages.publish(bed.partition, bed.nextCall(), messages);
  }

  async function settle({ storedId, token }: ClaimedMessage, outcome: Outcome): Promise<string | undefined> {
    return (await bed.broker.deliveries.settle(bed.partition, bed.nextCall(), [{ storedId, token, outcome }]))[0];
  }

  async function claimOne(lease = LONG): Promise<ClaimedMessage> {
    const [claimed] = (await bed.claimant.claim({ max: 1, lease })).messages;
    if (!claimed) throw new Error('nothing to claim');
    return claimed;
  }

  /** Everything that is stored, to be put back later. */
  async function snapshot(): Promise<() => Promise<void>> {
    const keys = await bed.storedKeys();
    const dumps = await Promise.all(keys.map((key) => bed.redis.dumpBuffer(key)));
    return async () => {
      const stored = await bed.storedKeys();
      await bed.redis.unlink(...stored);
      for (const [i, key] of keys.entries()) await bed.redis.restore(key, 0, dumps[i] as Buffer);
    };
  }

  it('if a failover loses a claim: the message gets another token, and the earlier receipt is stale', async () => {
    await publish('a');
    const restore = await snapshot();
    const lost = await claimOne();

    await restore();
    const again = await claimOne();

    expect(again).toMatchObject({ storedId: 'a', attempt: 1 });
    expect(again.token).not.toBe(lost.token);
    expect(await settle(lost, ACK)).toBe('stale');
    expect(await bed.broker.deliveries.extend(bed.partition, LONG, [lost])).toEqual(['lost']);
    expect(await settle(again, ACK)).toBe('settled');
  });

  it('if an old snapshot is restored, in which the claims of the epoch were fewer', async () => {
    await publish('early');
    await settle(await claimOne(), ACK);
    await publish('a', 'b');
    const restore = await snapshot();
    const held = [await claimOne(), await claimOne()];
    for (const claimed of held) expect(await settle(claimed, DEAD)).toBe('settled');

    await restore();
    const again = [await claimOne(), await claimOne()];

    const tokens = [...held, ...again].map(({ token }) => token);
    expect(new Set(tokens).size).toBe(4);
    for (const claimed of held) expect(await settle(claimed, ACK)).toBe('stale');
    for (const claimed of again) expect(await settle(claimed, ACK)).toBe('settled');
  });

  it('if all is lost: nobody owns the partition then, and the next owner has another epoch', async () => {
    await publish('a');
    const lost = await claimOne();
    await bed.redis.unlink(...(await bed.storedKeys()));
    await publish('a');

    expect(await bed.broker.deliveries.claim(bed.partition, bed.claimant.next())).toEqual({
      status: 'not-owner',
      owner: undefined,
    });
    const heir = ownerOf('heirs-epoch', 'heir');
    await bed.broker.fleet.acquire(bed.partition, heir, undefined);
    const request = bed.claimant.next({ owner: heir, sequence: 1, delivered: 0 });
    expect(await bed.broker.deliveries.claim(bed.partition, request)).toMatchObject({ messages: [{ storedId: 'a' }] });
    expect(await settle(lost, ACK)).toBe('stale');
  });

  const DAMAGED = [
    '',
    'nonsense',
    '<epoch>',
    '<epoch> 1',
    '<epoch> x y',
    '<epoch> -1 -1',
    '<epoch> 1e300 1',
    '<epoch> 0 0',
  ];
  it.each([...DAMAGED, `<epoch> ${'9'.repeat(40)} 1`, `<epoch> 1 ${'9'.repeat(40)}`, 'another-epoch 9 9'])(
    'if the latest claim is stored as %j: claims go on, with tokens of their own',
    async (claim) => {
      await publish('a', 'b');
      const first = await claimOne(1);
      await bed.redis.hset(bed.keys.meta, 'claim', claim.replace('<epoch>', epochOf(bed.claimant.owner)));
      await serverTimeReaches(bed.redis, (await serverTime(bed.redis)) + 2);

      const { messages } = await bed.claimant.claim();

      expect(messages.map(({ storedId }) => storedId)).toEqual(['a', 'b']);
      expect(messages.map(({ token }) => token)).toEqual([2, 3].map((number) => bed.claimant.token(number)));
      expect(await settle(first, ACK)).toBe('stale');
      expect((await bed.claimant.repeat()).messages).toHaveLength(2);
    },
  );

  it('if the latest claim is stored with a higher sequence: a new epoch is served', async () => {
    await publish('a');
    await bed.redis.hset(bed.keys.meta, 'claim', `${epochOf(bed.claimant.owner)} 7 0`);

    const refused = { status: 'not-owner', owner: bed.claimant.owner };
    expect(await bed.broker.deliveries.claim(bed.partition, bed.claimant.next())).toEqual(refused);
    const owner = ownerOf('next-epoch', 'owner');
    expect(await bed.broker.fleet.acquire(bed.partition, owner, bed.claimant.owner)).toEqual({ acquired: true });
    expect(await bed.broker.deliveries.claim(bed.partition, bed.claimant.next({ owner }))).toMatchObject({
      delivered: 1,
    });
  });

  it('if a record is damaged while its message is in flight', async () => {
    await publish('a');
    const first = await claimOne(1);
    await bed.redis.hset(bed.keys.deliveries, 'a', 'nonsense');
    await serverTimeReaches(bed.redis, (await serverTime(bed.redis)) + 2);

    expect((await bed.claimant.repeat()).messages).toEqual([]);
    const again = await claimOne();
    expect(again.token).not.toBe(first.token);
    expect(await settle(first, ACK)).toBe('stale');
    expect(await settle(again, ACK)).toBe('settled');
  });
});

describe('a claim that the script cannot use', () => {
  let bed: RedisBed;
  beforeEach(async () => {
    bed = await openRedisBed(inject('redisUrl'));
    await bed.claimant.acquire();
    await bed.broker.messages.publish(bed.partition, bed.nextCall(), [message('a')]);
  });
  afterEach(() => bed.close());

  for (const fields of [{ sequence: 0 }, { sequence: NaN }, { delivered: -1 }, { delivered: 1e300 }]) {
    it(`is refused, and changes nothing: ${JSON.stringify(fields)}`, async () => {
      const claiming = bed.broker.deliveries.claim(bed.partition, bed.claimant.next(fields));

      await expect(claiming).rejects.toMatchObject({ message: expect.stringContaining('REFUSED') as string });
      expect(await bed.broker.messages.get(bed.partition, 'a')).toMatchObject({ state: 'scheduled', deliveries: 0 });
      expect(await bed.redis.hexists(bed.keys.meta, 'claim')).toBe(0);
    });
  }
});
