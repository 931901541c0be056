import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { trace } from '@opentelemetry/api';
import { DelayQueueModule, DelayQueueProducer } from 'nestjs-delay-queue';
import { openTelemetry } from 'nestjs-delay-queue/opentelemetry';
import type { TracedConfig } from '../tracing-protocol.js';
import { exportSpans } from './export-spans.js';

const { redisUrl, prefix } = JSON.parse(process.argv[2] ?? '{}') as TracedConfig;
exportSpans();

@Module({
  imports: [
    DelayQueueModule.forRoot({
      redis: redisUrl,
      prefix,
      topics: { mails: { partitions: 1 } },
      consumer: false,
      middleware: [openTelemetry()],
    }),
  ],
})
class PublisherModule {}

const app = await NestFactory.createApplicationContext(PublisherModule, { logger: ['warn', 'error'] });
const producer = app.get(DelayQueueProducer);
await trace.getTracer('application').startActiveSpan('request', async (request) => {
  await producer.publish('orders', { attempts: 2 }, { id: 'twice', delay: 50 });
  // All are due at the same time, so that they are handled as one batch.
  const deliverAt = Date.now() + 1000;
  await producer.publishMany(
    'mails',
    ['a', 'b', 'c'].map((id) => ({ payload: id, options: { id, deliverAt } })),
  );
  request.end();
});
await app.close();
process.disconnect?.();
