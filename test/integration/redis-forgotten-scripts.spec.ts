import { describe, expect, it } from 'vitest';
import { DEAD, LONG, message } from '../support/broker/broker-bed.js';
import { openRedisBed } from '../support/broker/redis-bed.js';
import { startRedis } from '../support/servers/redis-server.js';

describe('scripts that the server has forgotten', () => {
  it('are sent again, for every call', async () => {
    const redis = await startRedis();
    const own = await openRedisBed(redis.url);
    const { broker, partition } = own;
    const flushed = async <T>(call: () => Promise<T>): Promise<T> => {
      await own.redis.script('FLUSH');
      return call();
    };
    try {
      expect(await flushed(() => broker.fleet.configure('orders', 4))).toMatchObject({ partitions: 4 });
      await flushed(() => own.claimant.acquire());
      expect(await flushed(() => broker.messages.publish(partition, own.nextCall(), [message('a')]))).toMatchObject([
        { status: 'created' },
      ]);
      const claimed = await flushed(() => own.claimant.claim());
      const receipt = { storedId: 'a', token: own.claimant.token(1) };
      expect(claimed).toMatchObject({ messages: [receipt] });
      expect(await flushed(() => broker.deliveries.extend(partition, LONG, [receipt]))).toEqual(['extended']);
      const settlements = [{ ...receipt, outcome: DEAD }];
      expect(await flushed(() => broker.deliveries.settle(partition, own.nextCall(), settlements))).toEqual([
        'settled',
      ]);
      expect(await flushed(() => broker.messages.get(partition, 'a'))).toMatchObject({ state: 'dead' });
      expect(await flushed(() => broker.messages.stats(partition))).toMatchObject({ dead: 1 });
      expect(await flushed(() => broker.messages.cancel(partition, own.nextCall(), 'a'))).toBe('not-found');
      expect(await flushed(() => broker.deadLetters.trimDead(partition, { maxCount: 0 }))).toBeUndefined();
      await flushed(() => broker.fleet.release(partition, own.claimant.owner));
      expect(await broker.messages.stats(partition)).toMatchObject({ owner: undefined, dead: 0 });
    } finally {
      await own.close();
      await redis.stop();
    }
  });
});
