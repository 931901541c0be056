import 'reflect-metadata';
import type { ModuleMetadata } from '@nestjs/common';
import { type Channel, type ConsumeMessage, connect } from 'amqplib';
import { DelayQueueAdmin, DelayQueueModule } from 'nestjs-delay-queue';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { type RunningApp, useBed } from '../support/app/bed.js';
import { codeBlocks, readDocument } from '../support/docs/markdown.js';
import { type Declared, classIn, runBlock } from '../support/docs/run-block.js';
import { PrivateRabbitMq } from '../support/servers/rabbitmq.js';
import { type PrivateRedis, startRedis } from '../support/servers/redis-server.js';
import { until } from '../support/waiting.js';

const bed = useBed();

const TOPIC = 'order.timeout';
const MESSAGES = 10_000;

/** In how long all messages fall due, in milliseconds. */
const SPREAD = 6000;

let rabbitmq: PrivateRabbitMq;
let redis: PrivateRedis;

beforeAll(async () => {
  [rabbitmq, redis] = await Promise.all([PrivateRabbitMq.start(), startRedis()]);
}, 120_000);

afterAll(async () => {
  await Promise.all([rabbitmq?.stop(), redis?.stop()]);
});

beforeEach(() => {
  vi.stubEnv('RABBITMQ_URL', rabbitmq.url);
  vi.stubEnv('REDIS_URL', redis.url);
});

afterEach(() => vi.unstubAllEnvs());

/** Runs a program of the guide as printed. */
async function ofGuide(file: string): Promise<Declared> {
  const blocks = codeBlocks(readDocument('docs/guides/from-rabbitmq-delayed-message.md'));
  const block = blocks.find(({ code }) => code.startsWith(`// ${file}\n`));
  if (!block) throw new Error(`The guide has no ${file}`);
  return runBlock(block, {});
}

async function startApp(metadata: ModuleMetadata): Promise<RunningApp> {
  const app = await bed.compileWith(metadata);
  await app.nest.init();
  return app;
}

it(
  `${MESSAGES} messages are forwarded into RabbitMQ, which is killed meanwhile: none is lost`,
  { timeout: 300_000 },
  async () => {
    const app = await startApp({ imports: [classIn(await ofGuide('app.module.ts'), 'AppModule')] });
    const due = Date.now() + 1000;
    for (let first = 0; first < MESSAGES; first += 1000) {
      await app.producer.publishMany(
        TOPIC,
        Array.from({ length: 1000 }, (_, i) => ({
          payload: { n: first + i },
          options: { id: `order-${first + i}`, deliverAt: due + ((first + i) * SPREAD) / MESSAGES },
        })),
      );
    }
    const acked = (): number => app.events.acked.past.length;
    await until('some messages to be forwarded', () => acked() > MESSAGES / 3, 30_000);
    await rabbitmq.kill();
    const before = acked();
    await until('messages to come while it is away', () => app.events.retried.past.length > 100, 20_000);
    expect(acked() - before).toBeLessThan(MESSAGES / 10);
    await rabbitmq.startAgain();
    await until('all messages to be forwarded', () => acked() >= MESSAGES, 120_000);
    expect(await app.get(DelayQueueAdmin).stats(TOPIC)).toMatchObject({ scheduled: 0, due: 0, inFlight: 0, dead: 0 });

    const messages = await messagesIn('orders');
    const numbers = messages.map(({ content, properties }) => {
      const { pattern, data } = JSON.parse(String(content)) as { pattern: string; data: { n: number } };
      expect([pattern, properties.messageId]).toEqual([TOPIC, `order-${data.n}`]);
      return data.n;
    });
    console.log(`${numbers.length} messages in RabbitMQ, ${numbers.length - MESSAGES} of them twice`);
    expect(new Set(numbers).size).toBe(MESSAGES);
  },
);

it('messages go through an exchange of the application as they have always gone', { timeout: 60_000 }, async () => {
  const OrdersExchange = classIn<{ emit(): never }>(await ofGuide('orders.exchange.ts'), 'OrdersExchange');
  await onChannel(async (channel) => {
    await channel.assertExchange('orders', 'topic', { durable: true });
    await channel.assertQueue('by-key', { durable: true });
    await channel.bindQueue('by-key', 'orders', 'order.#');
  });
  const topics = { [TOPIC]: { forward: { client: OrdersExchange, pattern: TOPIC } } };
  const app = await startApp({
    imports: [DelayQueueModule.forRoot({ redis: redis.url, prefix: bed.prefix, topics })],
    providers: [OrdersExchange],
  });
  await app.producer.publish(TOPIC, { id: '42' }, { delay: 100 });
  await app.events.acked.first();
  const [message] = await messagesIn('by-key');
  expect(String(message?.content)).toBe('{"id":"42"}');
  expect(message).toMatchObject({ fields: { routingKey: TOPIC }, properties: { contentType: 'application/json' } });
});

/** What consumers get of a queue, as they have got it before. */
async function messagesIn(queue: string): Promise<ConsumeMessage[]> {
  return onChannel(async (channel) => {
    const { messageCount } = await channel.checkQueue(queue);
    const messages: ConsumeMessage[] = [];
    await channel.consume(queue, (message) => message && messages.push(message), { noAck: true });
    await until('all messages to be consumed', () => messages.length >= messageCount, 20_000);
    return messages;
  });
}

async function onChannel<T>(work: (channel: Channel) => Promise<T>): Promise<T> {
  const connection = await connect(rabbitmq.url);
  try {
    return await work(await connection.createChannel());
  } finally {
    await connection.close();
  }
}
