import { Module, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { DelayQueueModule, DelayQueueProducer, DelayQueueReceiver, type PublishOptions } from 'nestjs-delay-queue';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

/**
 * What somebody would write who has no gateway: routes of Fastify that call the library and nothing else. The gateway is measured beside
 * it. Its address is printed, and it runs until it is ended.
 */
const [redis = ''] = process.argv.slice(2);

@Module({ imports: [DelayQueueModule.forRoot({ redis, defaults: { partitions: 2 } })] })
class BareModule {}

interface Body<T> {
  readonly body: T;
}

/** The part of Fastify that is used here. */
interface Fastify {
  post<T>(path: string, answer: (request: Body<T>) => Promise<unknown>): unknown;
}

function addRoutes(app: INestApplicationContext, fastify: Fastify): void {
  const producer = app.get(DelayQueueProducer);
  const receiver = app.get(DelayQueueReceiver);
  fastify.post('/publish', async ({ body: { payload, ...options } }: Body<{ payload: unknown } & PublishOptions>) =>
    producer.publish('jobs', payload, options),
  );
  fastify.post('/receive', async ({ body: options }: Body<{ max: number; wait: number }>) => {
    const messages = await receiver.receive('jobs', options);
    return {
      messages: messages.map(({ id, payload, attempt, dueAt, receipt }) => ({ id, payload, attempt, dueAt, receipt })),
    };
  });
  fastify.post('/settle', async ({ body }: Body<{ receipt: string; outcome: 'ack' }>) => ({
    receipt: body.receipt,
    status: await receiver.settle(body.receipt, body.outcome),
  }));
}

const adapter = new FastifyAdapter();
const app = await NestFactory.create<NestFastifyApplication>(BareModule, adapter, { logger: false });
addRoutes(app, adapter.getInstance<Fastify>());
await app.listen(0, '127.0.0.1');
const { port } = app.getHttpServer().address() as AddressInfo;
process.stdout.write(`The bare route is at http://127.0.0.1:${port}\n`);
await Promise.race(['SIGTERM', 'disconnect'].map(async (signal) => once(process, signal)));
await app.close();
