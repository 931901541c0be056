import type { RmqRecord } from '@nestjs/microservices';
import { DelayQueueHarness } from 'nestjs-delay-queue/testing';
import { Test } from '@nestjs/testing';
import { type Observable, of } from 'rxjs';
import { expect, it, vi } from 'vitest';
import type { DrivenDocument } from '../../support/docs/driven-document.js';
import { classIn } from '../../support/docs/run-block.js';
import { START, bootBuilt } from '../../support/kit/kit-bed.js';
import { eventually } from '../../support/waiting.js';

/** Nothing listens there. */
const NOWHERE = 'amqp://127.0.0.1:1';

export function fromRabbitmqDelayedMessage(document: DrivenDocument): void {
  document.drive('With a Nest client #1', (run) => {
    it('emits what is due with the client, with id and headers; extended/rabbitmq.spec.ts runs it on a RabbitMQ', async () => {
      const declared = await run();
      const emitted: [unknown, RmqRecord][] = [];
      const client = { emit: (pattern: unknown, record: RmqRecord) => of(emitted.push([pattern, record])) };
      const harness = new DelayQueueHarness({ now: START });
      const builder = Test.createTestingModule({ imports: [classIn(declared, 'AppModule')] });
      const { module } = await bootBuilt(harness.override(builder.overrideProvider('ORDERS').useValue(client)));
      const orders = module.get<{ place(order: object): Promise<void> }>(classIn(declared, 'OrderService'));
      await orders.place({ orderId: '42' });
      await harness.advance('29m');
      expect(emitted).toEqual([]);
      await harness.advance('1m');
      expect(emitted).toMatchObject([
        ['order.timeout', { data: { orderId: '42' }, options: { messageId: '42', headers: {} } }],
      ]);
    });
  });

  document.drive('With your own exchange #1', (run) => {
    it('does not complete before the broker has confirmed; extended/rabbitmq.spec.ts runs it on a RabbitMQ', async () => {
      vi.stubEnv('RABBITMQ_URL', NOWHERE);
      const declared = await run();
      const exchange = new (classIn<Exchange>(declared, 'OrdersExchange'))();
      const seen: string[] = [];
      exchange.emit('order.timeout', { id: '42' }).subscribe({
        error: (error: Error) => seen.push(error.message),
        complete: () => seen.push('complete'),
      });
      await new Promise((resolve) => {
        setTimeout(resolve, 100);
      });
      expect(seen).toEqual([]);
      await exchange.onApplicationShutdown();
      await eventually(() => expect(seen).toEqual(['Channel closed']));
    });
  });
}

interface Exchange {
  emit(routingKey: string, order: unknown): Observable<unknown>;
  onApplicationShutdown(): Promise<void>;
}
