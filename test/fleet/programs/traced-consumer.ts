import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DelayedHandler, DelayQueueModule } from 'nestjs-delay-queue';
import { openTelemetry } from 'nestjs-delay-queue/opentelemetry';
import type { TracedConfig } from '../tracing-protocol.js';
import { exportSpans } from './export-spans.js';

const { redisUrl, prefix } = JSON.parse(process.argv[2] ?? '{}') as TracedConfig;
exportSpans();

@Injectable()
class Orders {
  @DelayedHandler('orders', { backoff: { type: 'fixed', delay: 10 } })
  handle(payload: { attempts: number }, { attempt }: { attempt: number }): void {
    if (attempt < payload.attempts) throw new TypeError('not yet');
  }

  @DelayedHandler('mails', { batch: 10 })
  send(): void {}
}

@Module({
  imports: [DelayQueueModule.forRoot({ redis: redisUrl, prefix, middleware: [openTelemetry()] })],
  providers: [Orders],
})
class ConsumerModule {}

const app = await NestFactory.createApplicationContext(ConsumerModule, { logger: ['warn', 'error'] });
app.enableShutdownHooks();
process.send?.({ kind: 'ready' });
process.channel?.unref();
