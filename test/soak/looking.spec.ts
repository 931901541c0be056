import { Redis } from 'ioredis';
import { type ConnectedDelayQueueAdmin, createDelayQueueAdmin } from 'nestjs-delay-queue';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StoreKeys, partitionOf } from '../support/internals.js';
import { longestCall } from '../support/readings/longest-call.js';
import { report } from '../support/readings/statistics.js';
import { type PrivateRedis, startRedis } from '../support/servers/redis-server.js';

const TOPIC = 'orders';
const PARTITIONS = 2;
const MILLIONS = 5;
const A_STEP = 100_000;
const STEPS = (MILLIONS * 1_000_000) / A_STEP;
const MINUTE = 60_000;

/** Longest time that one call may keep Redis, in milliseconds. */
const LONGEST_CALL = 10;

/** All that an explanation may take of Redis, in milliseconds. */
const EXPLAINED_WITHIN = 5;

/** Entries of a sorted set, one a millisecond from `from` on. */
const FILL = `for i = 0, ARGV[2] - 1 do
  redis.call('ZADD', KEYS[1], ARGV[1] + i, 'm' .. string.format('%d', ARGV[1] + i))
end`;

describe(`with ${MILLIONS} million messages in one partition`, { timeout: 600_000 }, () => {
  let server: PrivateRedis;
  let redis: Redis;
  let admin: ConnectedDelayQueueAdmin;
  let keys: StoreKeys;
  /** When the first of them is due. */
  let from: number;
  /** In the partition that has them. */
  let id: string;

  beforeAll(async () => {
    server = await startRedis();
    redis = new Redis(server.url, { replyMapping: 'legacy' });
    keys = new StoreKeys('dq');
    await redis.hset(keys.topic(TOPIC).config, { partitions: PARTITIONS, protocol: 2 });
    await redis.hset(keys.fleet.topics, TOPIC, `${PARTITIONS} 2`);
    const partition = keys.partition({ topic: TOPIC, index: 0 });
    from = Date.now() - 30 * MINUTE;
    for (let step = 0; step < STEPS; step++) {
      await redis.eval(FILL, 1, partition.scheduled, from + step * A_STEP, A_STEP);
    }
    id = Array.from({ length: 100 }, (_, i) => `order-${i}`).find(
      (one) => partitionOf(one, PARTITIONS) === 0,
    ) as string;
    await redis.zadd(partition.scheduled, String(from + 20 * MINUTE), id);
    await redis.hset(partition.messages, id, '[1,1]');
    admin = await createDelayQueueAdmin({ redis: server.url, log: { log() {}, warn() {}, error() {} } });
  }, 300_000);

  afterAll(async () => {
    await admin?.close();
    redis?.disconnect();
    await server?.stop();
  });

  it('the agenda is exact, and keeps Redis short', async () => {
    const ends = from + MILLIONS * 1_000_000;
    const range = { from: from + 10 * MINUTE, to: ends - 10 * MINUTE, buckets: 200 };
    let agenda = await admin.agenda(TOPIC, range);
    const time = await longestCall(redis, `agenda of ${MILLIONS} million in 200 buckets`, async () => {
      agenda = await admin.agenda(TOPIC, range);
    });

    expect(time).toBeLessThanOrEqual(LONGEST_CALL);
    expect([agenda.scheduled, agenda.earlier, agenda.later]).toEqual([
      MILLIONS * 1_000_000 + 1,
      10 * MINUTE,
      10 * MINUTE,
    ]);
    const at = from + 20 * MINUTE;
    for (const bucket of agenda.buckets) {
      const [begin, end] = [Number(bucket.from), Number(bucket.to)];
      expect(bucket.count).toBe(end - begin + (begin <= at && at < end ? 1 : 0));
    }
    expect(agenda.overdue).toBeGreaterThan(30 * MINUTE);
  });

  it('explains a message within 5 ms of Redis time, and knows its place among millions', async () => {
    await redis.config('RESETSTAT');
    const { cause, facts } = await admin.explain(TOPIC, id);
    const used = await usedTime();
    report(`explain among ${MILLIONS} million: ${used.toFixed(2)} ms of Redis`);

    expect([cause, facts.before]).toEqual(['no-consumer', 20 * MINUTE + 1]);
    expect(used).toBeLessThanOrEqual(EXPLAINED_WITHIN);
    await redis.config('RESETSTAT');
    expect(await admin.explain(TOPIC, 'nobody-has-published-this')).toMatchObject({ cause: 'unknown-id' });
    expect(await usedTime()).toBeLessThanOrEqual(EXPLAINED_WITHIN);
  });

  it('counts a thousand topics in short calls', async () => {
    const topics = Array.from({ length: 1000 }, (_, i) => `topic-${i}`);
    for (const topic of topics) {
      await redis.hset(keys.topic(topic).config, { partitions: 8, protocol: 2 });
      await redis.hset(keys.fleet.topics, topic, '8 2');
      await redis.zadd(keys.partition({ topic, index: 3 }).scheduled, String(from), 'a');
    }
    const startedAt = performance.now();
    let agenda = await admin.agenda(undefined, { from, buckets: 60 });
    const took = performance.now() - startedAt;
    const time = await longestCall(redis, 'agenda of 1,000 topics', async () => {
      agenda = await admin.agenda(undefined, { from, buckets: 60 });
    });
    report(`agenda of 1,000 topics with 8 partitions each: ${took.toFixed(0)} ms`);

    expect(time).toBeLessThanOrEqual(LONGEST_CALL);
    expect(agenda.topics).toHaveLength(1001);
    expect(agenda.scheduled).toBe(MILLIONS * 1_000_000 + 1 + 1000);
  });

  /** What all commands since the last reset took of Redis, in milliseconds; those of scripts are counted once, with the scripts. */
  async function usedTime(): Promise<number> {
    const info = await redis.info('commandstats');
    const lines = [...info.matchAll(/^cmdstat_(\S+?):calls=\d+,usec=(\d+)/gm)];
    const outer = ['evalsha', 'eval', 'hmget', 'hget', 'hgetall', 'hscan'];
    return lines.reduce((sum, [, name = '', usec]) => sum + (outer.includes(name) ? Number(usec) : 0), 0) / 1000;
  }
});
