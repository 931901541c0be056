import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MAX_BATCH } from '../../lib/store/partition.js';
import { LONG, message } from '../support/broker/broker-bed.js';
import { type RedisBed, openRedisBed } from '../support/broker/redis-bed.js';
import { type PrivateRedis, WITH_DEBUG, startRedis } from '../support/servers/redis-server.js';

/** A hash with this many entries outgrows its table when one more comes. */
const OUTGROWN = 65_536;

describe('a partition that outgrows the tables of Redis', () => {
  let server: PrivateRedis;
  let bed: RedisBed;
  let published = 0;
  beforeAll(async () => {
    server = await startRedis(WITH_DEBUG);
    bed = await openRedisBed(server.url);
  });
  afterAll(async () => {
    await bed.close();
    await server.stop();
  });

  async function publishUpTo(total: number): Promise<void> {
    for (let first = published; first < total; first += MAX_BATCH) {
      const batch = Array.from({ length: Math.min(MAX_BATCH, total - first) }, (_, i) =>
        message(`id ${first + i}`, { due: { after: LONG }, onDuplicate: 'impossible' }),
      );
      await bed.broker.messages.publish(bed.partition, bed.nextCall(), batch);
    }
    published = total;
  }

  /** Whether Redis still has to move entries to a larger table. */
  async function isMoving(key: string): Promise<boolean> {
    return String(await bed.redis.call('DEBUG', 'HTSTATS-KEY', key)).includes('rehashing target');
  }

  it('has new ones soon, and no entry that is no message', async () => {
    const { redis, keys } = bed;
    await publishUpTo(OUTGROWN + 1);
    expect(await isMoving(keys.messages)).toBe(true);
    expect(await isMoving(keys.scheduled)).toBe(true);

    // In Redis 8 the last few hundred entries move with the next messages.
    await publishUpTo(OUTGROWN * (1 + 1 / 8 + 1 / 64));
    expect(await isMoving(keys.messages)).toBe(false);
    expect(await isMoving(keys.scheduled)).toBe(false);

    expect(await redis.hlen(keys.messages)).toBe(published);
    expect(await redis.zcard(keys.scheduled)).toBe(published);
    expect(await redis.hexists(keys.messages, '')).toBe(0);
  });
});
