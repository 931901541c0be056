import { Injectable } from '@nestjs/common';
import { DelayedHandler, UnrecoverableError } from 'nestjs-delay-queue';
import { expect, it, vi } from 'vitest';
import { bootApplication } from '../support/application.js';
import type { DrivenDocument } from '../support/driven-document.js';

/** The first order cannot be handled. */
@Injectable()
class Orders {
  @DelayedHandler('order.timeout')
  onTimeout(orderId: string): void {
    if (orderId === '42') throw new UnrecoverableError('There is no order 42');
  }
}

export function looking(readme: DrivenDocument): void {
  readme.drive('Looking into a topic #1', (run) => {
    it('counts the messages, and tells why one of them is dead', async () => {
      const { admin, harness, producer } = await bootApplication({ providers: [Orders] });
      await producer.publish('order.timeout', '42', { id: '42' });
      await harness.settle();
      const { dueAt } = await producer.publish('order.timeout', '43', { id: '43', delay: '30m' });
      const log = vi.spyOn(console, 'log').mockReturnValue();

      await run({ admin });

      expect(log.mock.calls).toEqual([
        [1, 0, 0, 1, dueAt],
        ['unrecoverable', 'There is no order 42'],
      ]);
    });
  });

  readme.drive('Dead letters #1', (run) => {
    it('shows what they died of, and requeues one with another payload', async () => {
      const { admin, harness, producer } = await bootApplication({ providers: [Orders] });
      await producer.publish('order.timeout', '42', { id: '42' });
      await harness.settle();
      const log = vi.spyOn(console, 'log').mockReturnValue();

      expect(await run({ admin })).toMatchObject({ requeued: 0 });
      await harness.settle();

      expect(log.mock.calls).toEqual([[1, 'UnrecoverableError: There is no order <n>']]);
      expect(harness.deadLetters('order.timeout')).toEqual([]);
    });
  });

  readme.drive('Events #1', (run) => {
    it('says what has become a dead letter', async () => {
      const { events, harness, producer } = await bootApplication({ providers: [Orders] });
      const error = vi.spyOn(console, 'error').mockReturnValue();
      await run({ events });
      for (const orderId of ['42', '43']) await producer.publish('order.timeout', orderId, { id: orderId });
      await harness.settle();

      expect(error.mock.calls).toEqual([['Message 42 of order.timeout is dead (unrecoverable): There is no order 42']]);
    });
  });
}
