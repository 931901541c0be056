import type { Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { Queue } from 'bullmq';
import { DelayQueueAdmin } from 'nestjs-delay-queue';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { runInProcess } from '../../support/cli/run-in-process.js';
import type { DrivenDocument, Run } from '../../support/docs/driven-document.js';
import { codeBlocks, readDocument } from '../../support/docs/markdown.js';
import { classIn } from '../../support/docs/run-block.js';
import { type PrivateRedis, startRedis } from '../../support/servers/redis-server.js';
import { eventually } from '../../support/waiting.js';

interface OrderService {
  place(orderId: string): Promise<void>;
  pay(orderId: string): Promise<void>;
}

export function fromBullmq(document: DrivenDocument): void {
  let redis: PrivateRedis;
  beforeAll(async () => (redis = await startRedis()));
  afterAll(async () => redis.stop());

  /** Runs an application of the document, while something is done with it. */
  const during = async (
    run: Run,
    closed: unknown[],
    work: (service: OrderService, get: <T>(type: Type<T>) => T) => Promise<void>,
  ): Promise<void> => {
    vi.stubEnv('REDIS_URL', redis.url);
    const declared = await run({ closeOrder: async (order) => void closed.push(order) });
    const AppModule = classIn(declared, 'AppModule');
    const module = await Test.createTestingModule({ imports: [AppModule] }).compile();
    const app = await module.init();
    try {
      await work(app.get(classIn<OrderService>(declared, 'OrderService')), (type) => app.get(type));
    } finally {
      await app.close();
    }
  };

  let before: Run;
  document.drive('Before #1', (run) => {
    before = run;
    it('closes the order that is not paid', async () => {
      const closed: unknown[] = [];
      await during(run, closed, async (service) => {
        const queue = new Queue('orders', { connection: { url: redis.url } });
        await service.place('order-1');
        await service.place('order-2');
        await service.pay('order-2');
        await (await queue.getJob('order-1'))?.promote();
        await eventually(() => expect(closed).toEqual([{ orderId: 'order-1' }]));
        expect(await queue.getDelayedCount()).toBe(0);
        await queue.close();
      });
    });
  });

  document.drive('After #1', (run) => {
    it('closes the orders that were placed before it, at their times, and none that was paid', async () => {
      const closed: unknown[] = [];
      const queue = new Queue('orders', { connection: { url: redis.url } });
      await during(before, closed, async (service) => {
        await service.place('order-3');
        await service.place('order-4');
        await queue.upsertJobScheduler('yearly', { pattern: '0 0 1 1 *' });
      });
      const job = await queue.getJob('order-3');
      await during(run, closed, async (service, get) => {
        const [command = '', shown = ''] = codeBlocks(readDocument('docs/guides/from-bullmq.md'))
          .filter(({ heading }) => heading === 'Move the jobs that wait')
          .map(({ code }) => code);
        const words = command.replaceAll("'", '').split(' ').slice(2, -1);
        const env = { REDIS_URL: redis.url };
        const dry = await runInProcess([...words, '--dry-run'], { env });
        expect(withoutTimes(dry.stdout.trimEnd())).toBe(withoutTimes(shown));
        const { code, stdout } = await runInProcess(words, { env });
        expect([code, stdout]).toEqual([1, expect.stringMatching(/^moved +2 to orders\.timeout\nleft +1$/m)]);
        const admin = get(DelayQueueAdmin);
        expect(await admin.get('orders.timeout', 'order-3')).toMatchObject({
          at: new Date((job?.timestamp ?? 0) + 30 * 60_000),
          maxAttempts: 5,
        });
        await service.pay('order-4');
        await service.place('order-5');
        await admin.runNow('orders.timeout', { all: true });
        await eventually(() => expect(closed).toHaveLength(2));
      });
      expect(closed.toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)))).toEqual([
        { orderId: 'order-3' },
        { orderId: 'order-5' },
      ]);
      await queue.close();
    });
  });
}

/** The time is a part of the id of a scheduler's job. */
function withoutTimes(text: string): string {
  return text.replaceAll(/\d{13}/g, 'time');
}
