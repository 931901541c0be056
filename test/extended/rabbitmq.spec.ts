import { setTimeout as sleep } from 'node:timers/promises';
import { Controller } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ClientsModule, EventPattern, type MicroserviceOptions, Payload, Transport } from '@nestjs/microservices';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { LogBook } from '../support/app/log-book.js';
import { useBed } from '../support/app/bed.js';
import { RabbitMq } from '../support/servers/rabbitmq.js';
import { eventually } from '../support/waiting.js';

const bed = useBed();

const TOPIC = 'order.timeout';
const MESSAGES = 10_000;

let rabbit: RabbitMq;

beforeAll(async () => {
  rabbit = await RabbitMq.start();
});
afterAll(async () => rabbit.stop());

function queue() {
  return {
    transport: Transport.RMQ as const,
    options: { urls: [rabbit.url], queue: 'orders', persistent: true, queueOptions: { durable: true } },
  };
}

/** A service that has its messages from RabbitMQ, and knows nothing of this library. */
async function startService() {
  const handled = new Map<number, number>();

  @Controller()
  class Orders {
    @EventPattern(TOPIC)
    onTimeout(@Payload() { order }: { order: number }): void {
      handled.set(order, (handled.get(order) ?? 0) + 1);
    }
  }

  const { transport, options } = queue();
  const service = await NestFactory.createMicroservice<MicroserviceOptions>(
    { module: ClientsModule, controllers: [Orders] },
    { transport, options: { ...options, noAck: true }, logger: new LogBook() },
  );
  await service.listen();
  return { service, handled };
}

it('none of 10,000 messages is lost on the way into RabbitMQ while it is frozen and killed', async () => {
  const app = await bed.start({
    imports: [ClientsModule.register([{ name: 'ORDERS', ...queue() }])],
    options: {
      topics: {
        [TOPIC]: {
          forward: { client: 'ORDERS', pattern: TOPIC, concurrency: 100 },
          attempts: 1000,
          backoff: { type: 'fixed', delay: 500 },
        },
      },
    },
  });
  const published = Array.from({ length: MESSAGES }, (_, order) => ({ payload: { order } }));
  await app.producer.publishMany(TOPIC, published);
  const acked = () => app.events.acked.past.length;

  await eventually(() => expect(acked()).toBeGreaterThan(2000));
  rabbit.signal('SIGSTOP');
  await sleep(2000);
  rabbit.signal('SIGCONT');
  await eventually(() => expect(acked()).toBeGreaterThan(4000));
  await rabbit.kill();
  expect(acked()).toBeLessThan(MESSAGES);
  await eventually(() => expect(app.events.retried.past.length).toBeGreaterThan(100));
  await rabbit.startAgain();

  await app.events.acked.take(MESSAGES);
  expect(app.events.dead.past).toEqual([]);
  const { service, handled } = await startService();
  try {
    await eventually(() => expect(handled.size).toBe(MESSAGES));
  } finally {
    await service.close();
  }
});
