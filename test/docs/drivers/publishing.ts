import { expect, it } from 'vitest';
import { MINUTE, START } from '../../support/kit/kit-bed.js';
import { bootApplication } from '../support/application.js';
import type { DrivenDocument } from '../support/driven-document.js';

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

export function publishing(readme: DrivenDocument): void {
  readme.drive('Publishing #1', (run) => {
    it('publishes a message that is due in 30 minutes', async () => {
      const { harness, producer } = await bootApplication();

      const { published } = await run({ producer });

      const dueAt = new Date(START.getTime() + 30 * MINUTE);
      expect(published).toMatchObject({ id: '42', topic: 'order.timeout', dueAt, duplicate: false });
      expect(harness.scheduled('order.timeout')).toMatchObject([{ id: '42', payload: { orderId: '42' }, dueAt }]);
    });
  });

  readme.drive('Many messages #1', (run) => {
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

  readme.drive('Cancelling #1', (run) => {
    it('removes these messages, and leaves another with the same id', async () => {
      const { harness, producer } = await withWaitingMessages();

      expect(await run({ producer })).toEqual({ result: 'cancelled', other: 'cancelled' });

      expect(harness.scheduled('order.timeout')).toEqual([]);
      expect(harness.scheduled('reminders')).toMatchObject([{ key: 'customer-8' }]);
    });
  });

  readme.drive('Rescheduling #1', (run) => {
    it('moves these messages, and leaves another with the same id', async () => {
      const { harness, producer } = await withWaitingMessages();

      const { moved, tomorrow, other } = await run({ producer });

      expect([moved, other]).toEqual([true, true]);
      expect(harness.scheduled('order.timeout')).toMatchObject([{ dueAt: new Date(START.getTime() + 60 * MINUTE) }]);
      const dueAt = new Map(harness.scheduled('reminders').map((message) => [message.key, message.dueAt]));
      expect(dueAt.get('customer-7')).toEqual(tomorrow);
      expect(dueAt.get('customer-8')).toEqual(new Date(START.getTime() + 30 * MINUTE));
    });
  });
}
