import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import type { ReadEntry } from '../../lib/store/records/event-log.interface.js';
import { StoreKeys } from '../../lib/store/keys.js';
import { type RedisBed, openRedisBed } from '../support/broker/redis-bed.js';
import { Received } from '../support/broker/received.js';

describe('the stream of fleet events', () => {
  let bed: RedisBed;
  let key: string;
  let sequence = 0;

  beforeEach(async () => {
    bed = await openRedisBed(inject('redisUrl'));
    key = new StoreKeys(bed.prefix).events;
    sequence = 0;
  });

  afterEach(async () => bed.close());

  async function append(times: number, keep = 1000): Promise<void> {
    for (let i = 0; i < times; i++) {
      const entry = { process: bed.prefix, sequence: ++sequence, count: 10, dropped: 0, events: '[]' };
      await bed.broker.eventLog.append(entry, keep);
    }
  }

  function follow() {
    const entries = new Received<ReadEntry>();
    const errors = new Received<Error>();
    const end = bed.broker.eventLog.follow({ onEntry: entries.listener, onError: errors.listener });
    const missed = (): number[] => entries.all.map((entry) => entry.missed).filter((count) => count > 0);
    return { entries, errors, end, missed };
  }

  /** Ids of the connections that wait for entries of this test's stream; new ones show up a moment later. */
  async function readers(): Promise<string[]> {
    const clients = (await bed.redis.client('LIST')) as string;
    const reading = clients.split('\n').filter((line) => / flags=\S*b/.test(line) && line.includes(' cmd=xread '));
    return reading.map((line) => /^id=(\d+)/.exec(line)?.[1] ?? '');
  }

  async function cut(before: readonly string[], errors: Received<Error>): Promise<void> {
    const own = (await readers()).filter((id) => !before.includes(id));
    expect(own).toHaveLength(1);
    const known = errors.all.length;
    for (const id of own) await bed.redis.client('KILL', 'ID', id);
    await errors.atLeast(known + 1);
  }

  it('is kept within about its length', async () => {
    await append(1000, 1000);
    expect(await bed.redis.xlen(key)).toBeLessThanOrEqual(100 + 100);
    expect(await bed.redis.xlen(key)).toBeGreaterThanOrEqual(100);
    const [last] = await bed.redis.xrevrange(key, '+', '-', 'COUNT', 1);
    expect(last?.[0]).toBe('10000-0');
  });

  it('is read on a connection that is open only while someone reads', async () => {
    const before = await readers();
    const { entries, end } = follow();
    await append(1);
    await entries.atLeast(1);
    await append(1);
    await entries.atLeast(2);
    expect((await readers()).length).toBe(before.length + 1);
    await end();
    await expect.poll(readers).toEqual(before);
  });

  it('is read on from the same place after the connection was lost', async () => {
    const before = await readers();
    const { entries, errors, missed } = follow();
    await append(5);
    await entries.atLeast(5);
    await cut(before, errors);
    await append(40);
    await entries.atLeast(45);
    expect(entries.all.map((entry) => entry.sequence)).toEqual(Array.from({ length: 45 }, (_, i) => i + 1));
    expect(missed()).toEqual([]);
    expect(errors.all[0]).toMatchObject({ code: 'BROKER_UNAVAILABLE' });
  });

  it('reports how many events were removed before they were read', async () => {
    const before = await readers();
    const { entries, errors, missed } = follow();
    await append(5);
    await entries.atLeast(5);
    await cut(before, errors);
    await append(10);
    await bed.redis.xtrim(key, 'MINID', '110-0');
    await entries.atLeast(10);
    expect(entries.all.map((entry) => entry.sequence)).toEqual([1, 2, 3, 4, 5, 11, 12, 13, 14, 15]);
    expect(missed()).toEqual([50]);
  });

  it('reports that it was lost, and is read on', async () => {
    const before = await readers();
    const { entries, errors, missed } = follow();
    await append(5);
    await entries.atLeast(5);
    await cut(before, errors);
    await bed.redis.del(key);
    await append(1);
    await errors.atLeast(2);
    expect(errors.all[1]?.message).toContain('has lost fleet events: their stream ended at 50, and now at 10');
    await append(1);
    await entries.atLeast(6);
    expect(entries.all.at(-1)).toMatchObject({ sequence: 7 });
    expect(missed()).toEqual([]);
  });
});
