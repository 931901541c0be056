import { Injectable } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { randomUUID } from 'node:crypto';
import { DelayedHandler, DelayQueueModule, type DelayedMessage, UnrecoverableError } from 'nestjs-delay-queue';
import { expect, inject, it, vi } from 'vitest';
import { type Application, bootApplication, bootPublisher } from '../../support/docs/application.js';
import type { DrivenDocument, Run } from '../../support/docs/driven-document.js';

const TOPIC = 'order.timeout';
const MEMBER = /^\S+:\d+:[0-9a-f-]{36}$/;

/** Orders from 42 on cannot be handled, until it is mended. */
@Injectable()
class Orders {
  readonly handled: DelayedMessage[] = [];
  mended = false;

  @DelayedHandler(TOPIC)
  onTimeout(_payload: unknown, message: DelayedMessage): void {
    if (!this.mended && Number(message.id) >= 42) throw new UnrecoverableError(`There is no order ${message.id}`);
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
  document.drive('Before you start #1', (run) => {
    it('counts what a topic holds, and ends', async () => {
      vi.stubEnv('REDIS_URL', inject('redisUrl'));
      expect(await printed(run)).toEqual([[{ scheduled: 0, due: 0, inFlight: 0, dead: 0 }]]);
    });
  });

  document.drive('Before you start #2', (run) => {
    it('shows nothing if nothing is amiss', async () => {
      const { admin } = await bootPublisher();
      expect(await printed(async () => run({ admin }))).toEqual([]);
    });
  });

  document.drive('Stop a topic #1', (run) => {
    it('pauses a topic, holds it, shows both, and lets it go on', async () => {
      const { admin, producer, harness, app } = await bootApplication({ providers: [Orders] });
      await producer.publish(TOPIC, null, { id: '1', delay: '1h' });
      expect(await printed(async () => run({ admin }))).toEqual([[true], [new Date(Number(harness.now) + 1_800_000)]]);
      expect(await admin.stats(TOPIC)).toMatchObject({ paused: false, heldUntil: undefined });
      await harness.advance('2h');
      expect(app.get(Orders).handled).toHaveLength(1);
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

  document.drive('DelayQueuePaused #1', (run) => {
    it('shows the topics that are paused, and since when messages wait', async () => {
      const { admin, dueAt } = await paused();
      expect(await printed(async () => run({ admin }))).toEqual([[TOPIC, 3, dueAt.toISOString()]]);
    });
  });

  document.drive('DelayQueuePaused #2', (run) => {
    it('has what is due handled, but for what has expired', async () => {
      const { app, admin, harness, producer } = await paused();
      await producer.publish(TOPIC, null, { id: '4', expireAfter: '1m' });
      await harness.advance('2m');
      expect(app.get(Orders).handled).toEqual([]);
      expect(await printed(async () => run({ admin }))).toEqual([[false, expect.any(Number)]]);
      await harness.settle();
      const handled = app.get(Orders).handled.map(({ id }) => id);
      expect(handled.toSorted((a, b) => Number(a) - Number(b))).toEqual(['1', '2', '3']);
      expect(harness.deadLetters(TOPIC)).toMatchObject([{ id: '4', failure: { reason: 'expired' } }]);
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
    it('shows what messages have died of, and one of each kind', async () => {
      const { admin } = await withDeadLetters();
      expect(await printed(async () => run({ admin }))).toEqual([
        [3],
        [3, 'unrecoverable', 'UnrecoverableError: There is no order <n>', expect.any(Date)],
        [expect.any(String), expect.anything(), 1, expect.stringContaining('UnrecoverableError')],
      ]);
    });
  });

  document.drive('DelayQueueDeadLetters #2', (run) => {
    it('requeues one, and then those that died of the same', async () => {
      const { app, admin, harness } = await withDeadLetters();
      const orders = app.get(Orders);
      orders.mended = true;
      const running = printed(async () => run({ admin }));
      await harness.advance('1m');
      expect(await running).toEqual([[2]]);
      await harness.settle();
      expect(orders.handled.map(({ id }) => id).toSorted((x, y) => Number(x) - Number(y))).toEqual(['42', '43', '44']);
      expect(orders.handled[0]).toMatchObject({
        id: '42',
        payload: { orderId: '42' },
        headers: { tenant: '7' },
        attempt: 1,
      });
      expect(await admin.stats(TOPIC)).toMatchObject({ dead: 0, scheduled: 0 });
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
  return overdueIn(await bootPublisher());
}

async function overdueIn(application: Application) {
  const { producer, harness } = application;
  const messages = ['1', '2', '3'].map((id) => ({ payload: { orderId: id }, options: { id, delay: '1m' as const } }));
  const published = await producer.publishMany(TOPIC, messages);
  await harness.advance('2m');
  const [{ dueAt } = { dueAt: new Date(0) }] = published;
  return { ...application, dueAt, partitions: published.map(({ partition = NaN }) => partition) };
}

/** The same in a topic that is paused, beside one that is not. */
async function paused() {
  const application = await bootApplication({ providers: [Orders] });
  await application.producer.publish('audit', null, { delay: '1m' });
  await application.admin.pause(TOPIC);
  return overdueIn(application);
}

async function withDeadLetters() {
  const application = await bootApplication({ providers: [Orders] });
  const { producer, harness } = application;
  for (const id of ['42', '43', '44']) {
    await producer.publish(TOPIC, { orderId: id }, { id, headers: { tenant: '7' } });
  }
  await harness.settle();
  return application;
}
