import 'reflect-metadata';
import { Injectable, Module, type OnModuleInit, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DelayedHandler, DelayQueueModule, DelayQueueProducer, type PublishOptions } from 'nestjs-delay-queue';
import { type Contender, type Handle, type Message, now } from './contender.js';
import type { Payload } from './payload.js';

/** The library as applications use it: a Nest application with decorated handlers and an injected producer. */
export const nestDelayQueue: Contender = {
  async publisher({ redisUrl, topic, partitions, ordered = false }) {
    @Module({
      imports: [DelayQueueModule.forRoot({ redis: redisUrl, defaults: { partitions, ordered }, consumer: false })],
    })
    class PublisherModule {}

    const app = await start(PublisherModule);
    const producer = app.get(DelayQueueProducer);
    return {
      publish: (message) => producer.publish(topic, message.payload, optionsOf(message)),
      publishMany: (messages) =>
        producer.publishMany(
          topic,
          messages.map((message) => ({ payload: message.payload, options: optionsOf(message) })),
        ),
      close: () => app.close(),
    };
  },

  async consumer({ redisUrl, topics, partitions, ordered = false, finished, concurrency }, handle) {
    const defaults = { partitions, ordered, ...(finished !== undefined && { finished: { maxCount: finished } }) };
    @Module({
      imports: [DelayQueueModule.forRoot({ redis: redisUrl, defaults, consumer: { concurrency } })],
      providers: [StartOfConsumption, ...topics.map((topic) => handlerOf(topic, handle))],
    })
    class ConsumerModule {}

    const app = await start(ConsumerModule);
    return { startedAt: app.get(StartOfConsumption).at, close: () => app.close() };
  },
};

/**
 * Records when the module has connected and is about to consume: global modules are initialized before those that import
 * them, and nothing is consumed before all of them are.
 */
@Injectable()
class StartOfConsumption implements OnModuleInit {
  at = 0;

  onModuleInit(): void {
    this.at = now();
  }
}

function handlerOf(topic: string, handle: Handle): Type {
  @Injectable()
  class BenchHandler {
    @DelayedHandler(topic)
    handle(payload: Payload): Promise<void> {
      return handle(payload);
    }
  }
  return BenchHandler;
}

function start(module: Type): ReturnType<typeof NestFactory.createApplicationContext> {
  return NestFactory.createApplicationContext(module, { logger: ['warn', 'error'], abortOnError: false });
}

function optionsOf({ due, key }: Message): PublishOptions {
  const when = due && ('after' in due ? { delay: due.after } : { deliverAt: due.at });
  return key === undefined ? { ...when } : { ...when, key };
}
