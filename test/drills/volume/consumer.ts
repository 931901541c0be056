import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DelayedHandler, type DelayedMessage, DelayQueueEvents, DelayQueueModule } from 'nestjs-delay-queue';
import { PREFIX, TOPIC } from '../../fleet/faults/programs/config.js';
import { CompactRecorder } from './compact-records.js';
import type { VolumeConfig } from './config.js';

/** Share of the calls that throw. */
const FAILURES = 0.001;

const { redis, partitions, historyFile } = JSON.parse(process.argv[2] ?? '{}') as VolumeConfig;
const recorder = new CompactRecorder(historyFile);

@Injectable()
class Worker {
  @DelayedHandler(TOPIC, { concurrency: 500, backoff: { type: 'fixed', delay: 50 } })
  async handle(_payload: unknown, { id, attempt, dueAt, signal }: DelayedMessage): Promise<void> {
    const number = Number(id);
    signal.addEventListener('abort', () => void recorder.record('aborted', number, attempt));
    await recorder.record('started', number, attempt, dueAt.getTime());
    const ok = Math.random() >= FAILURES;
    await recorder.record(ok ? 'finished' : 'failed', number, attempt);
    if (!ok) throw new Error('As configured');
  }
}

@Module({
  imports: [
    DelayQueueModule.forRoot({
      redis,
      prefix: PREFIX,
      topics: { [TOPIC]: { partitions } },
      consumer: { concurrency: 500 },
    }),
  ],
  providers: [Worker],
})
class ConsumerModule {
  constructor(events: DelayQueueEvents) {
    for (const kind of ['acked', 'retried', 'stale', 'dead'] as const) {
      events[kind].subscribe(({ id, attempt }) => void recorder.record(kind, Number(id), attempt));
    }
  }
}

const app = await NestFactory.createApplicationContext(ConsumerModule, { logger: ['error'] });
app.enableShutdownHooks();
// The parent process has died.
process.on('disconnect', () => process.exit(1));
process.send?.('ready');
