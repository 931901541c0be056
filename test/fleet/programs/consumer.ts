import 'reflect-metadata';
import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import {
  DELAY_QUEUE_REDIS,
  DelayedHandler,
  type DelayedMessage,
  DelayQueueEvents,
  DelayQueueModule,
} from 'nestjs-delay-queue';
import type { ConsumerConfig, Handled, Report } from '../protocol.js';

const config = JSON.parse(process.argv[2] ?? '{}') as ConsumerConfig;
const {
  redisUrl,
  prefix,
  topic,
  partitions,
  handlerTime = 0,
  poison,
  delivery = 'at-least-once',
  ...consumer
} = config;

function report(message: Report): void {
  process.send?.(message);
}

@Injectable()
class Recorder {
  #handled: Handled[] = [];

  constructor(@Inject(DELAY_QUEUE_REDIS) private readonly redis: Redis) {}

  @DelayedHandler(topic)
  async handle(_payload: unknown, message: DelayedMessage): Promise<void> {
    const { id, partition, attempt, dueAt, signal } = message;
    if (id === poison) process.kill(process.pid, 'SIGKILL');
    const [seconds, microseconds] = await this.redis.time();
    if (handlerTime > 0) {
      report({ kind: 'started', id, attempt });
      signal.addEventListener('abort', () => report({ kind: 'aborted', id, code: String(signal.reason.code) }));
      await sleep(handlerTime);
    }
    const redisTime = Number(seconds) * 1000 + Number(microseconds) / 1000;
    if (this.#handled.length === 0) setImmediate(() => report({ kind: 'handled', handled: this.#handled.splice(0) }));
    this.#handled.push({ id, partition, attempt, dueAt: dueAt.getTime(), redisTime });
  }
}

@Module({
  imports: [
    DelayQueueModule.forRoot({ redis: redisUrl, prefix, topics: { [topic]: { partitions, delivery } }, consumer }),
  ],
  providers: [Recorder],
})
class ConsumerModule {
  constructor(events: DelayQueueEvents) {
    events.ownership.subscribe(({ partition, owned }) => report({ kind: 'ownership', partition, owned, at: now() }));
    events.stale.subscribe(({ id, attempt }) => report({ kind: 'stale', id, attempt }));
  }
}

function now(): number {
  return performance.timeOrigin + performance.now();
}

const app = await NestFactory.createApplicationContext(ConsumerModule, { logger: ['warn', 'error'] });
app.enableShutdownHooks();
report({ kind: 'ready' });
// The channel to the parent must not keep a process alive that has shut down.
process.channel?.unref();
