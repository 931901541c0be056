import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DelayQueueAdmin, DelayQueueModule, DelayQueueProducer, DelayQueueReceiver } from 'nestjs-delay-queue';
import { expect, it, onTestFinished } from 'vitest';
import { eventually } from '../support/waiting.js';

@Module({ imports: [DelayQueueModule.forRoot({ redis: 'embedded:', prefix: `known-${randomUUID()}` })] })
class Application {}

it('whoever receives is known to the fleet and to explain, waiting or busy', async () => {
  const app = await NestFactory.createApplicationContext(Application, { logger: false });
  onTestFinished(() => app.close());
  const [producer, admin] = [app.get(DelayQueueProducer), app.get(DelayQueueAdmin)];
  const receiver = app.get(DelayQueueReceiver);
  await producer.publish('orders', 1, { id: 'first' });
  const [first] = await receiver.receive('orders', { wait: '10s', lease: '5m', consumer: 'worker-1' });
  await producer.publish('orders', 2, { id: 'second' });

  expect((await admin.fleet()).receivers).toMatchObject([
    { topic: 'orders', consumer: 'worker-1', state: 'busy', waiting: 0, holding: 1 },
  ]);
  expect(await admin.explain('orders', 'first')).toMatchObject({
    cause: 'running',
    advice: expect.stringContaining("'worker-1' has received it") as string,
  });
  const busy = await admin.explain('orders', 'second');
  expect(busy).toMatchObject({ cause: 'behind', also: [], facts: { receivers: [{ consumer: 'worker-1' }] } });
  expect(busy.advice).toContain("Nobody waits to receive now: 'worker-1' has 1 message.");

  await first?.ack();
  const waiting = receiver.receive('mails', { wait: '10s', consumer: 'worker-2' });
  await eventually(async () =>
    expect((await admin.fleet()).receivers).toMatchObject([
      { topic: 'mails', consumer: 'worker-2', state: 'idle', waiting: 1, holding: 0 },
      { topic: 'orders', consumer: 'worker-1', state: 'idle', holding: 0 },
    ]),
  );
  await producer.publish('mails', 1);
  await (await waiting)[0]?.ack();
  await expect(receiver.receive('orders', { consumer: '' })).rejects.toThrow(/consumer must be a string of 1 to 128/);
});
