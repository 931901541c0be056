import 'reflect-metadata';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DelayedHandler, type DelayedMessage, DelayQueueEvents, DelayQueueModule } from 'nestjs-delay-queue';
import { Recorder } from '../history/recorder.js';
import { type Command, type ConsumerConfig, PREFIX, TOPIC } from './config.js';

const config = JSON.parse(process.argv[2] ?? '{}') as ConsumerConfig;
const recorder = new Recorder(config.historyFile, config.name);

@Injectable()
class Worker {
  @DelayedHandler(TOPIC, { backoff: { type: 'fixed', delay: 50 } })
  async handle(_payload: unknown, message: DelayedMessage): Promise<void> {
    const { id, attempt, partition, dueAt, signal } = message;
    recorder.record({ kind: 'delivery-started', id, attempt, partition, dueAt: dueAt.getTime() });
    signal.addEventListener('abort', () => {
      recorder.record({ kind: 'aborted', id, attempt, code: String((signal.reason as { code?: string }).code) });
    });
    await sleep(Math.random() * config.handlerTime);
    const ok = Math.random() >= config.failures;
    recorder.record({ kind: 'delivery-finished', id, attempt, ok });
    if (!ok) throw new Error('As configured');
  }
}

@Module({
  imports: [
    DelayQueueModule.forRoot({
      redis: config.redisUrl,
      prefix: PREFIX,
      topics: { [TOPIC]: { partitions: config.partitions, attempts: config.attempts } },
      consumer: { lease: config.lease, maxIdleWait: config.maxIdleWait, concurrency: config.concurrency },
    }),
  ],
  providers: [Worker],
})
class ConsumerModule {
  constructor(events: DelayQueueEvents) {
    events.acked.subscribe(({ id, attempt }) => recorder.record({ kind: 'settled', outcome: 'acked', id, attempt }));
    events.retried.subscribe(({ id, attempt }) =>
      recorder.record({ kind: 'settled', outcome: 'retried', id, attempt }),
    );
    events.stale.subscribe(({ id, attempt }) => recorder.record({ kind: 'settled', outcome: 'stale', id, attempt }));
    events.dead.subscribe(({ id, attempt, failure: { reason } }) =>
      recorder.record({ kind: 'settled', outcome: 'dead', id, attempt, reason }),
    );
    events.ownership.subscribe(({ partition, owned }) => recorder.record({ kind: 'ownership', partition, owned }));
  }
}

const app = await NestFactory.createApplicationContext(ConsumerModule, { logger: ['error', 'warn'] });
app.enableShutdownHooks();
process.on('message', (command: Command) => {
  if (typeof command === 'object') blockEventLoop(command.block);
});
// The parent process has died.
process.on('disconnect', () => process.exit(1));
process.send?.('ready');

function blockEventLoop(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}
