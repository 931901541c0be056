import { type ConnectedDelayQueueAdmin, createDelayQueueAdmin } from 'nestjs-delay-queue';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Fleet } from '../support/processes/fleet.js';
import { report } from '../support/readings/statistics.js';
import { type PrivateRedis, startRedis } from '../support/servers/redis-server.js';
import { until } from '../support/waiting.js';

const TOPIC = 'pings';
const COUNT = 2000;
const PROCESSES = 8;
const LEASE = 1000;

describe('processes that are killed between claim and handler', () => {
  let fleet: Fleet;
  let redis: PrivateRedis | undefined;
  let admin: ConnectedDelayQueueAdmin | undefined;

  beforeEach(() => {
    fleet = new Fleet();
  });

  afterEach(async () => {
    await fleet.end();
    await admin?.close();
    await redis?.stop();
  });

  it(
    'lose the messages that they had claimed at most once, and none is delivered twice',
    { timeout: 180_000 },
    async () => {
      redis = await startRedis();
      const config = {
        redisUrl: redis.url,
        prefix: 'pings',
        topic: TOPIC,
        partitions: 4,
        delivery: 'at-most-once',
      } as const;
      const load = { ...config, count: COUNT, maxDelay: 0, spread: 0, idPrefix: 'm-' };
      const worker = { ...config, concurrency: 20, lease: LEASE, maxIdleWait: 200, handlerTime: 5 };
      const operator = await createDelayQueueAdmin({ redis: redis.url, prefix: config.prefix });
      admin = operator;
      await fleet.start('producer', 'producer', load).reported('published');
      const isEmpty = async (): Promise<boolean> => {
        const { scheduled, inFlight } = await operator.stats(TOPIC);
        return scheduled + inFlight === 0;
      };

      // Each kills itself in place of handling its message, which may also be lost with one before.
      let deaths = 0;
      for (let i = 1; i <= PROCESSES && !(await isEmpty()); i++) {
        const consumer = fleet.start(`process ${i}`, 'consumer', {
          ...worker,
          poison: `m-${(COUNT / PROCESSES) * i - 1}`,
        });
        await until('its death, or the end', async () => !consumer.running || (await isEmpty()), 60_000);
        if (!consumer.running) deaths++;
      }
      fleet.start('survivor', 'consumer', worker);
      await until('all to be claimed', isEmpty, 60_000);
      // Whatever had a lease would come again now.
      await new Promise((resolve) => setTimeout(resolve, 3 * LEASE));

      const { dead, counters } = await operator.stats(TOPIC);
      const ids = fleet.handled.map(({ id }) => id);
      const lost = COUNT - new Set(ids).size;
      report(
        `${COUNT} messages at most once, ${deaths} processes killed: ${lost} lost, ${ids.length - new Set(ids).size} doubled`,
      );
      expect(ids.length).toBe(new Set(ids).size);
      expect(deaths).toBeGreaterThan(1);
      expect(lost).toBeGreaterThanOrEqual(deaths);
      expect(lost).toBeLessThan(COUNT / 2);
      expect([dead, counters.delivered]).toEqual([0, COUNT]);
      expect(await isEmpty()).toBe(true);
    },
  );

  it('lose the one that kills, which kills no other process', { timeout: 60_000 }, async () => {
    redis = await startRedis();
    const config = {
      redisUrl: redis.url,
      prefix: 'pings',
      topic: TOPIC,
      partitions: 1,
      delivery: 'at-most-once',
    } as const;
    const worker = { ...config, concurrency: 1, lease: LEASE, maxIdleWait: 200, poison: 'm-0' };
    const operator = await createDelayQueueAdmin({ redis: redis.url, prefix: config.prefix });
    admin = operator;
    await fleet
      .start('producer', 'producer', { ...config, count: 1, maxDelay: 0, spread: 0, idPrefix: 'm-' })
      .reported('published');
    const first = fleet.start('first', 'consumer', worker);
    await until('its death', () => !first.running, 30_000);
    const second = fleet.start('second', 'consumer', worker);
    await second.reported('ready');
    await new Promise((resolve) => setTimeout(resolve, 3 * LEASE));

    expect(second.running).toBe(true);
    expect(fleet.handled).toEqual([]);
    expect(await operator.stats(TOPIC)).toMatchObject({
      scheduled: 0,
      inFlight: 0,
      dead: 0,
      counters: { delivered: 1 },
    });
  });
});
