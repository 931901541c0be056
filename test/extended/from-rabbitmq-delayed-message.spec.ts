import { NestFactory } from '@nestjs/core';
import { ClientsModule, type MicroserviceOptions, type RmqOptions } from '@nestjs/microservices';
import type { ConfirmChannel, Options } from 'amqplib';
import { DelayQueueHarness } from 'nestjs-delay-queue/testing';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { ordersIn, publishBoth } from '../docs/drivers/from-rabbitmq-delayed-message.js';
import { LogBook } from '../support/app/log-book.js';
import { bootApplication } from '../support/docs/application.js';
import { blocksOf } from '../support/docs/driven-document.js';
import { type Context, type Declared, classIn, runBlock } from '../support/docs/run-block.js';
import { boot, useKitBed } from '../support/kit/kit-bed.js';
import { RabbitMq } from '../support/servers/rabbitmq.js';
import { eventually } from '../support/waiting.js';

useKitBed();

const blocks = blocksOf('docs/guides/from-rabbitmq-delayed-message.md');

let rabbit: RabbitMq;

beforeAll(async () => {
  rabbit = await RabbitMq.start();
});
afterAll(async () => rabbit.stop());

// What useKitBed() finds open has to be closed before it looks.
const opened: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(opened.splice(0).map(async (one) => one.close()));
});

it('the consumers of the guide run unchanged, and get the same from both versions of its shop', async () => {
  const channel = await openChannel();
  standInForThePlugin(channel);
  await channel.assertExchange('orders.delayed', 'topic', { durable: true });
  for (const [queue, key] of [
    ['billing', 'order.timeout'],
    ['reminders', 'cart.reminder'],
  ] as const) {
    await channel.assertQueue(queue, { durable: true });
    await channel.bindQueue(queue, 'orders.delayed', key);
  }
  const handled = await startConsumers(channel);

  const before = await run('Before #1', { rabbit: rabbit.url, channel });
  const { module } = await boot({ imports: [classIn(before, 'ShopModule')] });
  const fromBefore = await copiesOf(channel, 'orders.delayed');
  await publishBoth(module.get(ordersIn(before)));
  const both = [
    ['billing', { orderId: '42' }],
    ['reminders', { cartId: '7' }, 'eu'],
  ];
  await eventually(() => expect(new Set(handled)).toEqual(new Set(both)));
  await eventually(() => expect(fromBefore).toHaveLength(2));
  handled.length = 0;

  await run('Bind the queues to a plain exchange #1', { channel });
  const after = await run('After #1', { rabbit: rabbit.url });
  const harness = new DelayQueueHarness({ patience: '1m' });
  const { app } = await bootApplication({ imports: [classIn(after, 'ShopModule')] }, harness);
  const fromAfter = await copiesOf(channel, 'orders.due');
  await publishBoth(app.get(ordersIn(after)));
  await harness.advance('1h');
  await eventually(() => expect(handled).toEqual(both.slice(0, 1)));
  await harness.advance('1d');
  await eventually(() => expect(handled).toEqual(both));
  await eventually(() => expect(fromAfter).toHaveLength(2));

  expect(fromBefore.map(({ delay }) => delay)).toEqual(['1800000', 86_400_000]);
  expect(fromAfter.map(({ delay }) => delay)).toEqual([undefined, undefined]);
  expect(fromAfter.map(({ message }) => message)).toEqual(fromBefore.map(({ message }) => message));
});

it('a RabbitMQ without the plugin refuses its exchange, and closes the connection', async () => {
  const connection = await rabbit.connect();
  const errors: unknown[] = [];
  connection.on('error', (error) => errors.push(error));
  const channel = await connection.createChannel();
  const declared = channel.assertExchange('old', 'x-delayed-message', { arguments: { 'x-delayed-type': 'topic' } });

  await expect(declared).rejects.toThrow('Channel ended');
  await eventually(() => expect(String(errors)).toContain("unknown exchange type 'x-delayed-message'"));
});

async function run(name: string, context: Context): Promise<Declared> {
  const block = blocks.get(name);
  if (!block) throw new Error(`The guide has no block ${name}.`);
  return runBlock(block, context);
}

async function openChannel(): Promise<ConfirmChannel> {
  const connection = await rabbit.connect();
  opened.push(connection);
  return connection.createConfirmChannel();
}

/** Has whoever declares a delayed exchange declare one of its underlying type, which delivers at once. */
function standInForThePlugin(channel: ConfirmChannel): void {
  const prototype = Object.getPrototypeOf(channel) as { assertExchange: DeclareExchange };
  const { assertExchange } = prototype;
  vi.spyOn(prototype, 'assertExchange').mockImplementation(function (this: ConfirmChannel, name, type, options = {}) {
    const { 'x-delayed-type': underlying = type, ...rest } = (options.arguments ?? {}) as Record<string, string>;
    return assertExchange.call(this, name, underlying, { ...options, arguments: rest });
  });
}

type DeclareExchange = (
  this: ConfirmChannel,
  name: string,
  type: string,
  options?: Options.AssertExchange,
) => Promise<unknown>;

/** Starts both consumers of the guide; resolves with what they handle. */
async function startConsumers(channel: ConfirmChannel): Promise<unknown[]> {
  const handled: unknown[] = [];
  const declared = await run('Before #2', {
    rabbit: rabbit.url,
    channel,
    closeOrder: async (order) => void handled.push(['billing', order]),
    remind: (...cart) => void handled.push(['reminders', ...cart]),
  });
  const service = await NestFactory.createMicroservice<MicroserviceOptions>(
    { module: ClientsModule, controllers: [classIn(declared, 'BillingEvents')] },
    { ...(declared['billing'] as RmqOptions), logger: new LogBook() },
  );
  opened.push(service);
  await service.listen();
  return handled;
}

/** All that leaves an exchange from now on, as a consumer gets it; the delay apart. */
async function copiesOf(channel: ConfirmChannel, exchange: string) {
  const copies: { delay: unknown; message: object }[] = [];
  const { queue } = await channel.assertQueue('', { exclusive: true });
  await channel.bindQueue(queue, exchange, '#');
  await channel.consume(queue, (message) => {
    if (!message) return;
    const { 'x-delay': delay, ...headers } = message.properties.headers ?? {};
    const content = message.content.toString('hex');
    copies.push({
      delay,
      message: { key: message.fields.routingKey, content, properties: { ...message.properties, headers } },
    });
  });
  return copies;
}
