import { expect, it } from 'vitest';
import { bootApplication } from '../../support/docs/application.js';
import type { DrivenDocument } from '../../support/docs/driven-document.js';
import { classIn } from '../../support/docs/run-block.js';
import { MINUTE, START } from '../../support/kit/kit-bed.js';

interface OrdersService {
  place(orderId: string): Promise<void>;
  pay(orderId: string): Promise<void>;
}

export function firstSteps(document: DrivenDocument): void {
  document.drive('The service #1', (run) => {
    it('publishes for each order, and cancels for one that is paid', async () => {
      const Orders = classIn<OrdersService>(await run(), 'OrdersService');
      const { app, harness } = await bootApplication({ providers: [Orders] });
      await app.get(Orders).place('42');
      await app.get(Orders).place('43');
      await app.get(Orders).pay('43');
      expect(harness.scheduled('order.timeout')).toMatchObject([
        { id: '42', dueAt: new Date(START.getTime() + 30 * MINUTE) },
      ]);
    });
  });

  document.drive('The handler #1', (run) => {
    it('handles the topic of the service', async () => {
      const Handler = classIn<{ onTimeout: (...given: unknown[]) => void }>(await run(), 'OrdersHandler');
      const closed: string[] = [];
      const handler = new Handler({ closeIfUnpaid: (id: string) => closed.push(id) > 1 });
      handler.onTimeout({ orderId: '42' }, { attempt: 1 });
      expect(closed).toEqual(['42']);
    });
  });

  document.drive('The module #1', (run) => {
    it('boots', async () => {
      const { app } = await bootApplication({ imports: [classIn(await run(), 'AppModule')] });
      expect(app).toBeDefined();
    });
  });

  // A file of tests: they become tests of this one.
  document.drive('The test #1', async (run) => void (await run()));
}
