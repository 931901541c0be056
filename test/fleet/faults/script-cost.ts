import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { DelayedHandler, DelayQueueModule, DelayQueueProducer } from 'nestjs-delay-queue';
import { until } from '../../support/waiting.js';
import { startRedis } from '../../support/servers/redis-server.js';
import { PREFIX, TOPIC } from './programs/config.js';

/** How many messages are due at once. */
const BACKLOG = 1_000_000;

/** How many of them are handled while the calls are timed. */
const HANDLED = 100_000;

const PER_CALL = 5000;

/** The cost of script calls with a huge backlog. */
export interface ScriptCost {
  readonly backlog: number;
  readonly handled: number;
  /** The longest time for which a call blocked Redis, in milliseconds. */
  readonly longest: number;
}

/** Publishes a million messages that are due at once to one partition, and handles some of them. */
export async function measureScriptCost(): Promise<ScriptCost> {
  const redis = await startRedis();
  const client = new Redis(redis.url);
  await client.config('SET', 'slowlog-log-slower-than', '1000');
  let handled = 0;

  class Counter {
    @DelayedHandler(TOPIC)
    handle(): void {
      handled++;
    }
  }

  @Module({
    imports: [DelayQueueModule.forRoot({ redis: redis.url, prefix: PREFIX, topics: { [TOPIC]: { partitions: 1 } } })],
    providers: [Counter],
  })
  class CounterModule {}

  @Module({
    imports: [
      DelayQueueModule.forRoot({
        redis: redis.url,
        prefix: PREFIX,
        topics: { [TOPIC]: { partitions: 1 } },
        consumer: false,
        publishTimeout: 60_000,
      }),
    ],
  })
  class PublisherModule {}

  try {
    const publisher = await NestFactory.createApplicationContext(PublisherModule, { logger: false });
    const producer = publisher.get(DelayQueueProducer);
    for (let n = 0; n < BACKLOG; n += PER_CALL) {
      const messages = Array.from({ length: PER_CALL }, (_, i) => ({ payload: n + i }));
      await producer.publishMany(TOPIC, messages);
    }
    const consumer = await NestFactory.createApplicationContext(CounterModule, { logger: false });
    await until('some to be handled', () => handled >= HANDLED, 60_000);
    await consumer.close();
    await publisher.close();
    const slow = (await client.slowlog('GET', 1000)) as [number, number, number, string[]][];
    const calls = slow
      .filter(([, , , [command = '']]) => /^eval/i.test(command))
      .map(([, , microseconds]) => microseconds);
    return { backlog: BACKLOG, handled, longest: Math.max(0, ...calls) / 1000 };
  } finally {
    client.disconnect();
    await redis.stop();
  }
}
