import { InvalidPayloadError, type TopicRef } from 'nestjs-delay-queue';
import { expect, it, vi } from 'vitest';
import { MINUTE, START } from '../../support/kit/kit-bed.js';
import { bootApplication, bootPublisher } from '../../support/docs/application.js';
import type { DrivenDocument } from '../../support/docs/driven-document.js';
import { classIn } from '../../support/docs/run-block.js';

const [CUSTOMER_7, CUSTOMER_8] = ['customer-7', 'customer-8'].map((key) => ({ id: 'reminder', key }));

/** What is published before some blocks run. */
async function withWaitingMessages() {
  const application = await bootApplication();
  await application.producer.publish('order.timeout', { orderId: '42' }, { id: '42', delay: '30m' });
  for (const names of [CUSTOMER_7, CUSTOMER_8]) {
    await application.producer.publish('reminders', null, { ...names, delay: '30m' });
  }
  return application;
}

export function publishing(document: DrivenDocument): void {
  document.drive('Publishing #1', (run) => {
    it('publishes a message that is due in 30 minutes', async () => {
      const { harness, producer } = await bootApplication();

      const { published } = await run({ producer });

      const dueAt = new Date(START.getTime() + 30 * MINUTE);
      expect(published).toMatchObject({ id: '42', topic: 'order.timeout', dueAt, duplicate: false });
      expect(harness.scheduled('order.timeout')).toMatchObject([{ id: '42', payload: { orderId: '42' }, dueAt }]);
    });
  });

  document.drive('Confirmed by replicas #1', (run) => {
    it('publishes a message that a replica confirms', async () => {
      const { harness, producer } = await bootApplication();
      harness.setReplicas(1);

      const { confirmed } = await run({ producer });

      expect(confirmed).toMatchObject({ id: '42', duplicate: false });
    });
  });

  document.drive('Typed topics #1', (run) => {
    it('publishes a message that its handler gets after 30 minutes', async () => {
      const { harness, producer } = await bootPublisher();
      const log = vi.spyOn(console, 'log').mockReturnValue();
      await bootApplication({ providers: [classIn(await run({ producer }), 'OrderTimeouts')] }, harness);

      await harness.advance(30 * MINUTE - 1);
      expect(log).not.toHaveBeenCalled();
      await harness.advance(1);

      expect(log.mock.calls).toEqual([['Order 42 was not paid']]);
    });
  });

  document.drive('Typed topics #2', (run) => {
    it('is nothing at run time; what it means to the compiler, examples.spec.ts sees', async () => {
      expect(await run()).toEqual({});
    });
  });

  document.drive('Schemas #1', (run) => {
    it('checks what is published, and gives the handler what the schema makes of it', async () => {
      const { harness, producer } = await bootPublisher();
      const log = vi.spyOn(console, 'log').mockReturnValue();
      const declared = await run({ producer });
      await bootApplication({ providers: [classIn(declared, 'PlacedOrders')] }, harness);
      await harness.settle();

      const [stored] = harness.published<{ placedAt: string }>('order.placed');
      expect(stored?.payload).toEqual({ orderId: '42', placedAt: expect.any(String) as string });
      expect(log.mock.calls).toEqual([[`Order 42 was placed ${stored?.payload.placedAt}, in EUR`]]);
      const wrong = producer.publish(declared['orderPlaced'] as TopicRef, { orderId: '43', placedAt: 'today' });
      await expect(wrong).rejects.toThrow(InvalidPayloadError);
    });
  });

  document.drive('Publish many messages #1', (run) => {
    it('publishes them, and has a result for each, in their order', async () => {
      const { harness, producer } = await bootApplication();

      const { results } = await run({ producer });

      expect(results).toMatchObject([{ id: '42' }, { id: '43' }]);
      expect(harness.published('order.timeout')).toMatchObject([
        { payload: { orderId: '42' }, delay: 30 * MINUTE },
        { payload: { orderId: '43' }, delay: 30 * MINUTE },
      ]);
    });
  });

  document.drive('Cancel a message #1', (run) => {
    it('removes these messages, and leaves another with the same id', async () => {
      const { harness, producer } = await withWaitingMessages();

      expect(await run({ producer })).toEqual({ result: 'cancelled', other: 'cancelled' });

      expect(harness.scheduled('order.timeout')).toEqual([]);
      expect(harness.scheduled('reminders')).toMatchObject([{ key: 'customer-8' }]);
    });
  });

  document.drive('Reschedule a message #1', (run) => {
    it('moves these messages, and leaves another with the same id', async () => {
      const { harness, producer } = await withWaitingMessages();

      const { result, tomorrow, other } = await run({ producer });

      expect([result, other]).toEqual(['moved', 'moved']);
      expect(harness.scheduled('order.timeout')).toMatchObject([{ dueAt: new Date(START.getTime() + 60 * MINUTE) }]);
      const dueAt = new Map(harness.scheduled('reminders').map((message) => [message.key, message.dueAt]));
      expect(dueAt.get('customer-7')).toEqual(tomorrow);
      expect(dueAt.get('customer-8')).toEqual(new Date(START.getTime() + 30 * MINUTE));
    });
  });
}
