import { Redis } from 'ioredis';
import { DelayQueueAdmin } from 'nestjs-delay-queue';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeFailureRecord } from '../../lib/message/failure-record.js';
import { RedisKeys } from '../../lib/broker/redis/redis-keys.js';
import { toFailedAttempt } from '../../lib/message/failed-attempt.js';
import { partitionOf } from '../../lib/message/partitioner.js';
import { type PrivateRedis, startRedis } from '../support/redis-server.js';
import { Bed } from './support/bed.js';

const COUNT = 100_000;
const PARTITIONS = 4;
const TOPIC = 'payments';

/** For how long a script may keep Redis from everybody else, in milliseconds. */
const LONGEST_BLOCK = 10;

/** Long stacks, as errors have them: what is listed is not small. */
const STACK = 'at collect (/app/payments.js:1:1)\n'.repeat(30);

/** Writes dead letters as consumers leave them behind; a tenth of them died of something else. */
async function bury(redis: Redis, prefix: string, diedAt: number): Promise<void> {
  const keys = new RedisKeys(prefix);
  for (let from = 0; from < COUNT; from += 1000) {
    const pipeline = redis.pipeline();
    for (let i = from; i < from + 1000; i++) {
      const id = `m-${String(i).padStart(6, '0')}`;
      const k = keys.partition({ topic: TOPIC, index: partitionOf(id, PARTITIONS) });
      const message = i % 10 === 0 ? `no account ${i}` : `card ${i} declined`;
      const failure = { reason: 'failed' as const, name: 'Error', message, stack: STACK };
      const attempt = toFailedAttempt(failure, { at: diedAt, attempt: 1, duration: 1 });
      pipeline.hset(k.messages, id, `[1,{"amount":${i}}]`);
      pipeline.hset(k.deliveries, id, `0 1 1 ${diedAt}`);
      pipeline.hset(k.errors, id, encodeFailureRecord(failure, attempt));
      // Many of one time, so that pages begin in the middle of such.
      pipeline.zadd(k.dead, diedAt + Math.floor(i / 500), id);
    }
    await pipeline.exec();
  }
}

describe(`${COUNT} dead letters`, () => {
  let server: PrivateRedis;
  let bed: Bed;
  let admin: DelayQueueAdmin;

  beforeAll(async () => {
    server = await startRedis();
    bed = new Bed(server.url);
    await bed.open();
    const app = await bed.start({ options: { topics: { [TOPIC]: { partitions: PARTITIONS } }, consumer: false } });
    admin = app.get(DelayQueueAdmin);
    await bury(bed.redis, bed.prefix, Math.floor(await bed.time()) - 3_600_000);
  }, 120_000);

  afterAll(async () => {
    await bed.close();
    bed.redis.disconnect();
    await server.stop();
  });

  /**
   * Has Redis note how long each script runs meanwhile, and prints it.
   *
   * @returns what 95 % of them stay within, in milliseconds: one may have had to wait for the processor
   */
  async function longestScript(name: string, work: () => Promise<void>): Promise<number> {
    await bed.redis.config('SET', 'slowlog-max-len', '100000');
    await bed.redis.slowlog('RESET');
    await bed.redis.config('SET', 'slowlog-log-slower-than', '0');
    const begin = performance.now();
    await work();
    const seconds = (performance.now() - begin) / 1000;
    await bed.redis.config('SET', 'slowlog-log-slower-than', '-1');
    const entries = (await bed.redis.slowlog('GET', -1)) as [number, number, number, string[]][];
    const times = entries
      .filter(([, , , [command]]) => /^eval/i.test(command ?? ''))
      .map(([, , microseconds]) => microseconds / 1000)
      .toSorted((a, b) => b - a);
    const usual = times[Math.floor(times.length / 20)] ?? NaN;
    const [middle, longest] = [times[Math.floor(times.length / 2)] ?? NaN, times[0] ?? NaN];
    console.info(
      `${name}: ${seconds.toFixed(1)} s, ${times.length} scripts, half within ${middle.toFixed(2)} ms, ` +
        `95 % within ${usual.toFixed(2)} ms, the longest ${longest.toFixed(2)} ms`,
    );
    return usual;
  }

  it('are grouped in short steps, none of them twice or not at all', async () => {
    const time = await longestScript('grouping', async () => {
      const { total, groups, ungrouped } = await admin.deadLetterGroups(TOPIC);
      expect([total, ungrouped]).toEqual([COUNT, 0]);
      expect(groups.map(({ count, pattern }) => [count, pattern])).toEqual([
        [COUNT * 0.9, 'card <n> declined'],
        [COUNT * 0.1, 'no account <n>'],
      ]);
    });
    expect(time).toBeLessThan(LONGEST_BLOCK);
  });

  it('are counted by a dry run, and those of a group removed', async () => {
    const { groups } = await admin.deadLetterGroups(TOPIC);
    const fingerprint = groups[1]?.fingerprint ?? '';
    const time = await longestScript('counting and removing a tenth', async () => {
      expect(await admin.requeue(TOPIC, {}, { dryRun: true })).toMatchObject({ matched: COUNT, requeued: 0 });
      expect(await admin.remove(TOPIC, { fingerprint })).toMatchObject({ matched: COUNT / 10, removed: COUNT / 10 });
    });
    expect(time).toBeLessThan(LONGEST_BLOCK);
    expect((await admin.stats(TOPIC)).dead).toBe(COUNT * 0.9);
  });

  it('are all requeued, at no more than a rate, by two callers at once, each exactly once', async () => {
    const rate = 20_000;
    const other = await bed.start({ options: { consumer: false } });
    const begin = performance.now();
    const time = await longestScript('requeuing the others', async () => {
      const results = await Promise.all([
        admin.requeue(TOPIC, {}, { rate, delay: '1h' }),
        other.get(DelayQueueAdmin).requeue(TOPIC, {}, { rate, delay: '1h' }),
      ]);
      expect(results.reduce((sum, { requeued }) => sum + requeued, 0)).toBe(COUNT * 0.9);
    });
    expect((performance.now() - begin) / 1000).toBeGreaterThan((COUNT * 0.9) / (2 * rate));
    expect(time).toBeLessThan(LONGEST_BLOCK);
    expect(await admin.stats(TOPIC)).toMatchObject({ dead: 0, scheduled: COUNT * 0.9 });
    expect(await admin.get(TOPIC, 'm-000001')).toMatchObject({ state: 'scheduled', attempts: 0, deliveries: 1 });
  });
}, 120_000);
