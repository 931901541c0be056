import 'reflect-metadata';
import { setTimeout as sleep } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DelayQueueModule, DelayQueueProducer } from 'nestjs-delay-queue';
import type { ProducerConfig, Report } from '../protocol.js';

const config = JSON.parse(process.argv[2] ?? '{}') as ProducerConfig;
const { redisUrl, prefix, topic, partitions, count, maxDelay, spread, idPrefix } = config;

@Module({
  imports: [
    DelayQueueModule.forRoot({ redis: redisUrl, prefix, topics: { [topic]: { partitions } }, consumer: false }),
  ],
})
class ProducerModule {}

const app = await NestFactory.createApplicationContext(ProducerModule, { logger: ['warn', 'error'] });
const producer = app.get(DelayQueueProducer);
const startedAt = performance.now();
const ids: string[] = [];
const pending: Promise<unknown>[] = [];
for (let n = 0; n < count; n++) {
  const id = `${idPrefix}${n}`;
  ids.push(id);
  pending.push(producer.publish(topic, { n }, { id, delay: Math.random() * maxDelay }));
  const aheadBy = (n / count) * spread - (performance.now() - startedAt);
  if (aheadBy > 1) await sleep(aheadBy);
}
await Promise.all(pending);
process.send?.({ kind: 'published', ids } satisfies Report);
await app.close();
process.disconnect?.();
