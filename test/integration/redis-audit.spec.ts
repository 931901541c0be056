import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { StoreKeys } from '../../lib/store/keys.js';
import { type RedisBed, openRedisBed, refusal } from '../support/broker/redis-bed.js';
import { type PrivateRedis, startRedis } from '../support/servers/redis-server.js';

let server: PrivateRedis;
let bed: RedisBed;
let keys: StoreKeys;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());
beforeEach(async () => {
  bed = await openRedisBed(server.url);
  keys = new StoreKeys(bed.prefix);
});
afterEach(async () => {
  await bed.redis.config('SET', 'maxmemory', '0');
  await bed.close();
});

describe('the audit log in Redis', () => {
  it('is a stream as the documents say, and remembers each entry for 2 minutes', async () => {
    await bed.broker.records.appendAudit({ id: 'a1', text: '{"action":"cancel"}' });

    expect(await bed.redis.xrange(keys.audit, '-', '+')).toEqual([[expect.any(String), ['e', '{"action":"cancel"}']]]);
    const ttl = await bed.redis.pttl(keys.audited('a1'));
    expect(ttl).toBeGreaterThan(110_000);
    expect(ttl).toBeLessThanOrEqual(120_000);
  });

  it('keeps about the latest 10,000 entries', async () => {
    const pipeline = bed.redis.pipeline();
    for (let i = 0; i < 10_800; i++) pipeline.xadd(keys.audit, '*', 'e', String(i));
    await pipeline.exec();
    await bed.broker.records.appendAudit({ id: 'last', text: 'last' });
    const length = await bed.redis.xlen(keys.audit);

    expect(length).toBeGreaterThanOrEqual(10_000);
    expect(length).toBeLessThanOrEqual(10_200);
    expect((await bed.broker.records.auditRecords({ limit: 1 })).records).toMatchObject([{ text: 'last' }]);
  });

  it('is written while Redis is full, since operators make room', async () => {
    await bed.redis.config('SET', 'maxmemory', '1');
    await bed.broker.records.appendAudit({ id: 'a', text: 'purged' });

    expect((await bed.broker.records.auditRecords({ limit: 1 })).records).toMatchObject([{ text: 'purged' }]);
  });

  it('refuses an entry that it cannot take as a whole', async () => {
    await bed.redis.set(keys.audit, 'x');
    const error = await refusal(bed.broker.records.appendAudit({ id: 'a', text: 'entry' }));

    expect(error.message).toContain('WRONGTYPE');
    expect(await bed.redis.exists(keys.audited('a'))).toBe(0);
  });

  it('passes over entries of other programs', async () => {
    await bed.redis.xadd(keys.audit, '5-0', 'other', 'field');
    await bed.redis.xadd(keys.audit, '6-0', 'f', 'e', 'e', 'ours');

    expect(await bed.broker.records.auditRecords({ limit: 5 })).toEqual({
      records: [
        { place: '6-0', at: 6, text: 'ours' },
        { place: '5-0', at: 5, text: '' },
      ],
      next: undefined,
    });
  });
});
