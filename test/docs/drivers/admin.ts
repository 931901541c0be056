import { Injectable } from '@nestjs/common';
import { DelayQueueModule, DelayedHandler } from 'nestjs-delay-queue';
import { expect, it, vi } from 'vitest';
import { bootApplication } from '../../support/docs/application.js';
import type { DrivenDocument } from '../../support/docs/driven-document.js';
import { VERSION } from '../../support/internals.js';

const HOUR = 3_600_000;

@Injectable()
class Orders {
  @DelayedHandler('order.timeout')
  onTimeout(): void {}
}

export function admin(document: DrivenDocument): void {
  document.drive('Agenda #1', (run) => {
    it('prints what falls due in each hour', async () => {
      const { producer, admin: delayQueueAdmin, harness } = await bootApplication();
      vi.spyOn(Date, 'now').mockReturnValue(Number(harness.now));
      for (const delay of ['30m', '90m', '2d']) await producer.publish('order.timeout', {}, { delay });
      const log = vi.spyOn(console, 'log').mockReturnValue();

      await run({ admin: delayQueueAdmin });

      const [[first], ...buckets] = log.mock.calls as [[string], ...[Date, number][]];
      expect(first).toBe('3 wait, 0 of them are overdue, 1 come after the next 24 hours');
      expect(buckets.map(([, count]) => count)).toEqual([1, 1, ...Array.from({ length: 22 }, () => 0)]);
      expect(Number(buckets[1]?.[0]) - Number(buckets[0]?.[0])).toBe(HOUR);
    });
  });

  document.drive('Fleet #1', (run) => {
    it('prints who handles what, and how fast', async () => {
      const { producer, admin: delayQueueAdmin, harness } = await bootApplication({ providers: [Orders] });
      for (let i = 0; i < 120; i++) await producer.publish('order.timeout', {});
      await harness.settle();
      await harness.advance('1m');
      const log = vi.spyOn(console, 'log').mockReturnValue();

      await run({ admin: delayQueueAdmin });

      expect(log.mock.calls).toEqual([
        [expect.any(String), VERSION, '0 of 100 busy, 0 partitions wait'],
        ['order.timeout', '2 a second, 99 % within 0 ms'],
      ]);
    });
  });

  document.drive('History #1', (run) => {
    it('prints how fast it was, span by span', async () => {
      const imports = [DelayQueueModule.forRoot({ history: { keep: '1h' } })];
      const { producer, admin: delayQueueAdmin, harness } = await bootApplication({ imports, providers: [Orders] });
      for (let i = 0; i < 120; i++) await producer.publish('order.timeout', {});
      await harness.settle();
      await harness.advance('1m');
      const log = vi.spyOn(console, 'log').mockReturnValue();

      await run({ admin: delayQueueAdmin });

      expect(log.mock.calls).toEqual([[expect.any(Date), '2/s', 0, 0]]);
    });
  });

  document.drive('Search #1', (run) => {
    it('prints what has the field', async () => {
      const { producer, admin: delayQueueAdmin } = await bootApplication();
      const { dueAt } = await producer.publish('order.timeout', { customer: { id: 7 } }, { id: '42', delay: '1h' });
      await producer.publish('order.timeout', { customer: { id: 8 } }, { id: '43', delay: '1h' });
      const log = vi.spyOn(console, 'log').mockReturnValue();

      await run({ admin: delayQueueAdmin });

      expect(log.mock.calls).toEqual([['42', 'scheduled', dueAt]]);
    });
  });

  document.drive('Bulk actions #1', (run) => {
    it('counts what it would cancel, moves what is due soon, and starts what carries the tag', async () => {
      const { producer, admin: delayQueueAdmin, harness } = await bootApplication();
      vi.spyOn(Date, 'now').mockReturnValue(Number(harness.now));
      const start = Number(harness.now);
      await producer.publish('order.timeout', { customer: { id: 7 } }, { id: '42', delay: '30m' });
      await producer.publish('order.timeout', {}, { id: '43', delay: '1d', tags: ['customer:7'] });
      const log = vi.spyOn(console, 'log').mockReturnValue();

      await run({ admin: delayQueueAdmin });

      expect(log.mock.calls).toEqual([[1, ['42']]]);
      const { messages } = await delayQueueAdmin.peek('order.timeout', 'scheduled');
      expect(messages.map(({ id, at }) => [id, Number(at) - start])).toEqual([
        ['43', 0],
        ['42', 2 * HOUR],
      ]);
    });
  });

  document.drive('Audit log #1', (run) => {
    it('prints who has paused the topic', async () => {
      const { producer, admin: delayQueueAdmin, harness } = await bootApplication();
      await producer.publish('order.timeout', {});
      const log = vi.spyOn(console, 'log').mockReturnValue();

      await run({ admin: delayQueueAdmin });

      expect(log.mock.calls).toEqual([[harness.now, 'ann@example.com', 'pause', 'order.timeout', {}, undefined]]);
    });
  });

  document.drive('Explain #1', (run) => {
    it('prints why a message waits, and what would keep it then', async () => {
      const { producer, admin: delayQueueAdmin } = await bootApplication();
      const { dueAt } = await producer.publish('order.timeout', {}, { id: '42', delay: '30m' });
      await delayQueueAdmin.pause('order.timeout');
      const log = vi.spyOn(console, 'log').mockReturnValue();

      await run({ admin: delayQueueAdmin });

      expect(log.mock.calls).toEqual([
        [expect.stringMatching(/^not-due: It is due at /)],
        ['Then it would still be kept by: paused, no-consumer, no-owner'],
        ['scheduled', dueAt, [], 0],
      ]);
    });
  });
}
