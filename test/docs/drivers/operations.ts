import { Injectable } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { randomUUID } from 'node:crypto';
import { DelayedHandler, DelayQueueModule, type DelayedMessage, UnrecoverableError } from 'nestjs-delay-queue';
import { expect, inject, it, vi } from 'vitest';
import { bootApplication, bootPublisher } from '../support/application.js';
import type { DrivenDocument, Run } from '../support/driven-document.js';

const TOPIC = 'order.timeout';
const MEMBER = /^\S+:\d+:[0-9a-f-]{36}$/;

/** Order 42 cannot be handled, until it is mended. */
@Injectable()
class Orders {
  readonly handled: DelayedMessage[] = [];
  mended = false;

  @DelayedHandler(TOPIC)
  onTimeout(_payload: unknown, message: DelayedMessage): void {
    if (!this.mended && message.id === '42') throw new UnrecoverableError('There is no order 42');
    this.handled.push(message);
  }
}

/** What a block prints, line by line. */
async function printed(run: () => Promise<unknown>): Promise<unknown[][]> {
  const log = vi.spyOn(console, 'log').mockReturnValue();
  await run();
  return log.mock.calls;
}

/** What a block prints that is given an application on a real Redis. */
async function printedOnRedis(run: Run): Promise<unknown[][]> {
  const queue = DelayQueueModule.forRoot({
    redis: inject('redisUrl'),
    prefix: `operations-${randomUUID()}`,
    consumer: false,
  });
  const app = await NestFactory.createApplicationContext(queue, { logger: false });
  try {
    return await printed(async () => run({ app }));
  } finally {
    await app.close();
  }
}

export function operations(document: DrivenDocument): void {
  document.drive('Looking #1', (run) => {
    it('counts what a topic holds, and ends', async () => {
      vi.stubEnv('REDIS_URL', inject('redisUrl'));
      expect(await printed(run)).toEqual([[{ scheduled: 0, due: 0, inFlight: 0, dead: 0 }]]);
    });
  });

  document.drive('DelayQueueLate #1', (run) => {
    it('shows how much is due, and where', async () => {
      const { admin, producer, partitions } = await overdue();
      const lines = await printed(async () => run({ admin, producer }));
      expect(lines[0]).toEqual([3, 0]);
      const waiting = new Map(lines.slice(1) as [number, number][]);
      expect([...waiting.keys()].toSorted((a, b) => a - b)).toEqual([...new Set(partitions)].toSorted((a, b) => a - b));
      expect([...waiting.values()].reduce((sum, count) => sum + count, 0)).toBe(3);
    });
  });

  document.drive('DelayQueueNoProgress #1', (run) => {
    it('shows what is due since when, and whose it is', async () => {
      const { admin, partitions, dueAt } = await overdue();
      const lines = await printed(async () => run({ admin }));
      expect(new Set(lines.map(([partition]) => partition))).toEqual(new Set(partitions));
      for (const line of lines) expect(line.slice(2)).toEqual([dueAt.toISOString(), 'nobody']);
    });
  });

  document.drive('DelayQueuePartitionUnowned #1', (run) => {
    it('shows all partitions where nobody handles the topic', async () => {
      const { admin } = await overdue();
      expect(await printed(async () => run({ admin }))).toEqual([[[]], [[0, 1, 2, 3, 4, 5, 6, 7]]]);
    });

    it('shows the owner where one does', async () => {
      const { admin } = await bootApplication({ providers: [Orders] });
      expect(await printed(async () => run({ admin }))).toEqual([[[expect.stringMatching(MEMBER)]], [[]]]);
    });
  });

  document.drive('DelayQueueDeadLetters #1', (run) => {
    it('shows what a message has died of', async () => {
      const { admin } = await withDeadLetter();
      expect(await printed(async () => run({ admin }))).toEqual([
        ['unrecoverable', 'There is no order 42', 1],
        [{ orderId: '42' }, expect.stringContaining('UnrecoverableError')],
      ]);
    });
  });

  document.drive('DelayQueueDeadLetters #2', (run) => {
    it('publishes a dead letter anew, under its id and key and with its headers', async () => {
      const { app, admin, producer, harness } = await withDeadLetter();
      const orders = app.get(Orders);
      orders.mended = true;
      await run({ admin, producer });
      await harness.settle();
      expect(orders.handled).toMatchObject([
        { id: '42', key: '42', payload: { orderId: '42' }, headers: { tenant: '7' }, attempt: 1 },
      ]);
      expect(await admin.get(TOPIC, '42')).toBeUndefined();
    });
  });

  document.drive('DelayQueuePublishFails #1', (run) => {
    it('shows that Redis answers, and its memory', async () => {
      expect(await printedOnRedis(run)).toEqual([
        ['PONG'],
        [expect.stringMatching(/^used_memory:\d+/)],
        [expect.stringMatching(/^maxmemory:\d+/)],
      ]);
    });
  });

  document.drive('DelayQueueRedisUnreachable #1', (run) => {
    it('shows the connection and its address', async () => {
      const { hostname, port } = new URL(inject('redisUrl'));
      expect(await printedOnRedis(run)).toEqual([['ready', hostname, Number(port)]]);
    });
  });

  document.drive('DelayQueueClockOffset #1', (run) => {
    it('shows the offset, which is none on one machine', async () => {
      const [[offset] = []] = await printedOnRedis(run);
      expect(Math.abs(offset as number)).toBeLessThan(100);
    });
  });
}

/** Three messages that have been due for a minute, and nobody handles them. */
async function overdue() {
  const application = await bootPublisher();
  const { producer, harness } = application;
  const messages = ['1', '2', '3'].map((id) => ({ payload: { orderId: id }, options: { id, delay: '1m' as const } }));
  const published = await producer.publishMany(TOPIC, messages);
  await harness.advance('2m');
  const [{ dueAt } = { dueAt: new Date(0) }] = published;
  return { ...application, dueAt, partitions: published.map(({ partition }) => partition) };
}

async function withDeadLetter() {
  const application = await bootApplication({ providers: [Orders] });
  const { producer, harness } = application;
  await producer.publish(TOPIC, { orderId: '42' }, { id: '42', headers: { tenant: '7' } });
  await harness.settle();
  return application;
}
