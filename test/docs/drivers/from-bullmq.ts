import { BullModule, getQueueToken } from '@nestjs/bullmq';
import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { Queue } from 'bullmq';
import { DelayQueueAdmin, DelayQueueModule } from 'nestjs-delay-queue';
import { Redis } from 'ioredis';
import { expect, it, vi } from 'vitest';
import { runInProcess } from '../../support/cli/run-in-process.js';
import { bootApplication } from '../../support/docs/application.js';
import type { DrivenDocument, Run } from '../../support/docs/driven-document.js';
import { type Declared, classIn } from '../../support/docs/run-block.js';
import { type PrivateRedis, startRedis } from '../../support/servers/redis-server.js';
import { eventually } from '../../support/waiting.js';

interface Shop {
  close(orderId: string): Promise<void>;
  alert(text: string): Promise<void>;
}

interface Orders {
  place(orderId: string): Promise<void>;
  pay(orderId: string): Promise<void>;
}

/** What both applications have to do in the same way. */
interface Story {
  /** Lets half an hour pass. */
  readonly wait: () => Promise<void>;
  /** Puts something into the queue or the topic that no order belongs to. */
  readonly spoil: () => Promise<void>;
}

/** Orders are closed unless they were paid; one is tried again; what is no order is told of. */
async function playStory(app: INestApplicationContext, declared: Declared, { wait, spoil }: Story): Promise<void> {
  vi.spyOn(console, 'log').mockReturnValue();
  const orders = app.get<Orders>(classIn(declared, 'Orders'));
  const shop = app.get<Shop>(classIn(declared, 'Shop'));
  const close = vi.spyOn(shop, 'close').mockRejectedValueOnce(new Error('The shop is away.'));
  const alert = vi.spyOn(shop, 'alert');
  await orders.place('1');
  await orders.place('1');
  await orders.place('2');
  await orders.pay('2');
  await wait();
  await eventually(() => expect(close.mock.calls).toEqual([['1'], ['1']]));
  await spoil();
  await eventually(() => expect(alert.mock.calls).toEqual([[expect.stringMatching(/^odd failed: no order$/)]]));
}

/** Boots one of the applications on a Redis. */
async function bootOn(redis: PrivateRedis, run: Run): Promise<{ app: INestApplicationContext; declared: Declared }> {
  vi.stubEnv('REDIS_URL', redis.url);
  const declared = await run();
  return {
    declared,
    app: await NestFactory.createApplicationContext(classIn(declared, 'AppModule'), { logger: false }),
  };
}

/** Moves the job of the order `moving`, which is paid after it was taken from BullMQ and before it is published. */
async function paidWhileMoved(redis: PrivateRedis, pay: () => Promise<void>): Promise<void> {
  const client = new Redis(redis.url);
  const own = 'bull:orders:delay-queue-import';
  // As the first step of an import leaves it.
  const score = await client.zscore('bull:orders:delayed', 'order-moving');
  await client
    .multi()
    .zrem('bull:orders:delayed', 'order-moving')
    .rename('bull:orders:order-moving', `${own}:job:order-moving`)
    .zadd(`${own}:taken`, Number(score), 'order-moving')
    .hset(`${own}:settings`, 'taken', 1)
    .exec();
  client.disconnect();
  const command = ['import-bullmq', 'orders', '--to', 'order.timeout', '--yes'];
  const [, { code, stdout }] = await Promise.all([pay(), runInProcess(command, { env: { REDIS_URL: redis.url } })]);
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^published +1$/m)]);
}

export function fromBullmq(document: DrivenDocument): void {
  let runBefore: Run;

  document.drive('The application before #1', (run) => {
    runBefore = run;
    it('closes an order that was not paid, on BullMQ', async () => {
      const redis = await startRedis();
      const { app, declared } = await bootOn(redis, run);
      try {
        const queue = app.get<Queue>(getQueueToken('orders'));
        await playStory(app, declared, {
          wait: async () => {
            for (const job of await queue.getDelayed()) await job.promote();
          },
          spoil: async () => void (await queue.add('timeout', {}, { jobId: 'odd' })),
        });
        expect((await queue.getFailed()).map(({ id }) => id)).toEqual(['odd']);
      } finally {
        await app.close();
        await redis.stop();
      }
    });
  });

  document.drive('The application after #1', (run) => {
    it('closes an order that was not paid, on a topic', async () => {
      const declared = await run();
      const { app, harness, producer } = await bootApplication({ imports: [classIn(declared, 'AppModule')] });
      await playStory(app, declared, {
        wait: async () => harness.advance('31m'),
        spoil: async () => {
          await producer.publish('order.timeout', {}, { id: 'odd' });
          await harness.advance('1s');
        },
      });
      expect(await app.get(DelayQueueAdmin).get('order.timeout', 'odd')).toMatchObject({ state: 'dead' });
    });

    it('closes an order that was placed with the application before, once it is moved', async () => {
      const redis = await startRedis();
      const [before, after] = [await bootOn(redis, runBefore), await bootOn(redis, run)];
      try {
        const close = vi.spyOn(after.app.get<Shop>(classIn(after.declared, 'Shop')), 'close').mockResolvedValue();
        await before.app.get<Orders>(classIn(before.declared, 'Orders')).place('7');
        const command = ['import-bullmq', 'orders', '--to', 'order.timeout', '--yes'];
        const { code, stdout } = await runInProcess(command, { env: { REDIS_URL: redis.url } });
        expect([code, stdout]).toEqual([0, expect.stringMatching(/^published +1$/m)]);

        const admin = after.app.get(DelayQueueAdmin);
        expect(await admin.get('order.timeout', 'order-7')).toMatchObject({ payload: { orderId: '7' } });
        await admin.runNow('order.timeout', 'order-7');
        await eventually(() => expect(close.mock.calls).toEqual([['7']]));
      } finally {
        await Promise.all([before.app.close(), after.app.close()]);
        await redis.stop();
      }
    });
  });

  document.drive('Cancel in both meanwhile #1', (run) => {
    it('cancels what BullMQ has, what the topic has, and what the import is moving', async () => {
      const redis = await startRedis();
      const before = await bootOn(redis, runBefore);
      const Meanwhile = classIn<Orders>(await run(), 'Orders');
      const { hostname: host, port } = new URL(redis.url);
      @Module({
        imports: [
          BullModule.forRoot({ connection: { host, port: Number(port) } }),
          BullModule.registerQueue({ name: 'orders' }),
          DelayQueueModule.forRoot({ redis: redis.url, topics: { 'order.timeout': {} }, consumer: false }),
        ],
        providers: [Meanwhile],
      })
      class MeanwhileModule {}
      const app = await NestFactory.createApplicationContext(MeanwhileModule, { logger: false });
      try {
        const [placing, orders] = [before.app.get<Orders>(classIn(before.declared, 'Orders')), app.get(Meanwhile)];
        const [queue, admin] = [app.get<Queue>(getQueueToken('orders')), app.get(DelayQueueAdmin)];
        for (const id of ['bullmq', 'moving']) await placing.place(id);
        for (const id of ['topic', 'unpaid']) await orders.place(id);

        await Promise.all(['bullmq', 'topic'].map(async (id) => orders.pay(id)));
        expect(await queue.getJobCounts('delayed')).toEqual({ delayed: 1 });
        await paidWhileMoved(redis, async () => orders.pay('moving'));

        expect(await queue.getJobCounts('delayed')).toEqual({ delayed: 0 });
        expect(await admin.stats('order.timeout')).toMatchObject({ scheduled: 1 });
        expect(await admin.get('order.timeout', 'order-unpaid')).toMatchObject({ state: 'scheduled' });
      } finally {
        await Promise.all([before.app.close(), app.close()]);
        await redis.stop();
      }
    });
  });
}
