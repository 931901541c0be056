import { type ConnectedDelayQueueAdmin, createDelayQueueAdmin } from 'nestjs-delay-queue';
import { afterEach, describe, expect, it } from 'vitest';
import { Fleet } from '../support/processes/fleet.js';
import { report } from '../support/readings/statistics.js';
import { type PrivateRedis, startRedis } from '../support/servers/redis-server.js';
import { until } from '../support/waiting.js';

const POISON = 'm-50';

/** Three deaths until it runs alone, and then one for each of the 5 attempts. */
const DEATHS = 8;

describe('a message that kills its process', () => {
  const fleet = new Fleet();
  let redis: PrivateRedis | undefined;
  let admin: ConnectedDelayQueueAdmin | undefined;

  afterEach(async () => {
    await fleet.end();
    await admin?.close();
    await redis?.stop();
  });

  it('dies alone: the 99 that run beside it are all handled', { timeout: 180_000 }, async () => {
    redis = await startRedis();
    const topic = 'work';
    const config = { redisUrl: redis.url, prefix: 'crashes', topic, partitions: 4 };
    const load = { ...config, count: 100, maxDelay: 0, spread: 0, idPrefix: 'm-' };
    await fleet.start('producer', 'producer', load).reported('published');
    const operator = await createDelayQueueAdmin({ redis: redis.url, prefix: config.prefix });
    admin = operator;

    let deaths = 0;
    const begun = performance.now();
    const worker = { ...config, concurrency: 100, lease: 2000, maxIdleWait: 200, handlerTime: 1000, poison: POISON };
    for (;;) {
      const consumer = fleet.start(`worker ${deaths + 1}`, 'consumer', worker);
      const isOver = async (): Promise<boolean> => {
        const { dead, counters } = await operator.stats(topic);
        return dead + counters.acked === 100;
      };
      await until('the next death, or the end', async () => !consumer.running || (await isOver()), 60_000);
      if (consumer.running) break;
      deaths++;
    }

    report(`100 messages with one that kills: ${deaths} deaths, ${(performance.now() - begun).toFixed(0)} ms`);
    const { dead, counters } = await operator.stats(topic);
    expect([dead, counters.acked]).toEqual([1, 99]);
    const { messages } = await operator.peek(topic, 'dead');
    expect(messages).toMatchObject([{ id: POISON, failure: { reason: 'crashed' } }]);
    expect(deaths).toBe(DEATHS);
  });
});
