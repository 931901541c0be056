import { ClientRMQ, ClientsModule, RmqRecord } from '@nestjs/microservices';
import { DelayQueueModule, type ForwardOptions } from 'nestjs-delay-queue';
import { type Observable, of } from 'rxjs';
import { expect, it, vi } from 'vitest';
import { bootApplication } from '../../support/docs/application.js';
import type { DrivenDocument } from '../../support/docs/driven-document.js';
import { classIn } from '../../support/docs/run-block.js';

export function forward(document: DrivenDocument): void {
  document.drive('Forward a topic through a client of Nest #1', (run) => {
    it('emits what is due through the client of RabbitMQ', async () => {
      const emit = vi.spyOn(ClientRMQ.prototype, 'emit').mockReturnValue(of(undefined));
      const declared = await run();
      const { harness, producer } = await bootApplication({ imports: [classIn(declared, 'AppModule')] });
      await producer.publish('order.timeout', { orderId: '42' }, { delay: '30m' });
      await harness.advance('29m');
      expect(emit).not.toHaveBeenCalled();
      await harness.advance('1m');

      expect(emit.mock.calls).toEqual([['order.timeout', { orderId: '42' }]]);
    });
  });

  document.drive('Forward a topic through a client of Nest #2', (run) => {
    it('closes the order', async () => {
      const closed: unknown[] = [];
      const declared = await run({ closeOrder: async (order: unknown) => void closed.push(order) });
      const events = new (classIn(declared, 'OrderEvents'))() as { onTimeout(order: unknown): Promise<void> };
      await events.onTimeout({ orderId: '42' });

      expect(closed).toEqual([{ orderId: '42' }]);
    });
  });

  document.drive('More than the payload #1', (run) => {
    it('emits a record of RabbitMQ that says which message it is', async () => {
      const emit = vi.fn<() => Observable<unknown>>(() => of(undefined));
      const billing = { module: ClientsModule, providers: [{ provide: 'BILLING', useValue: { emit } }] };
      const topics = { 'order.timeout': { forward: (await run())['forward'] as ForwardOptions } };
      const { harness, producer } = await bootApplication({ imports: [billing, DelayQueueModule.forRoot({ topics })] });
      await producer.publish('order.timeout', { orderId: '42' }, { id: '42', delay: '30m' });
      await harness.advance('30m');

      const record = new RmqRecord(
        { orderId: '42' },
        { messageId: 'order.timeout/42', contentType: 'application/json' },
      );
      expect(emit.mock.calls).toEqual([['order.timeout', record]]);
    });
  });
}
