import { Injectable } from '@nestjs/common';
import {
  type DelayedMessage,
  type Duration,
  DelayedHandler,
  DelayQueueModule,
  DelayQueueProducer,
} from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';

interface Order {
  readonly id: string;
}

@Injectable()
class OrderService {
  readonly closed: string[] = [];
  paymentServiceIsDown = false;

  constructor(private readonly producer: DelayQueueProducer) {}

  async place(order: Order, delay: Duration = '30m') {
    return this.producer.publish('order.timeout', { orderId: order.id }, { id: order.id, delay });
  }

  @DelayedHandler('order.timeout', { backoff: { type: 'fixed', delay: 10 } })
  async onTimeout(payload: { orderId: string }, message: DelayedMessage) {
    await this.closeIfUnpaid(payload.orderId, message);
  }

  async closeIfUnpaid(orderId: string, message: DelayedMessage) {
    if (this.paymentServiceIsDown && message.attempt === 1) throw new Error('payment service is down');
    this.closed.push(orderId);
  }
}

const bed = useBed();

/** The service, with this test's Redis and prefix. */
async function boot() {
  const app = await bed.compileWith({
    imports: [DelayQueueModule.forRoot({ redis: bed.connection, prefix: bed.prefix })],
    providers: [OrderService],
  });
  await app.nest.init();
  return { app, orders: app.get(OrderService) };
}

describe('an order service', () => {
  it('tells the service that published the message when its time has come', async () => {
    const { app, orders } = await boot();
    await orders.place({ id: '42' }, '50ms');
    const { id, lateness } = await app.events.delivered.first();
    await app.events.acked.first();
    expect(id).toBe('42');
    expect(lateness).toBeGreaterThanOrEqual(0);
    expect(orders.closed).toEqual(['42']);
  });

  it('waits for 30 minutes, as it says', async () => {
    const { app, orders } = await boot();
    const now = await bed.time();
    const { partition, dueAt } = await orders.place({ id: '42' });
    expect(dueAt.getTime()).toBeGreaterThanOrEqual(now + 30 * 60_000);
    expect(dueAt.getTime()).toBeLessThan(now + 30 * 60_000 + 1000);
    const place = bed.partition('order.timeout', partition);
    expect(await place.dueAt('42')).toBe(dueAt.getTime());

    // In place of half an hour.
    expect(await app.producer.reschedule('order.timeout', '42', { delay: 0 })).toBe('moved');
    await app.events.acked.first();
    expect(orders.closed).toEqual(['42']);
  });

  it('delivers again if the handler throws', async () => {
    const { app, orders } = await boot();
    orders.paymentServiceIsDown = true;
    await orders.place({ id: '42' }, 0);
    const { attempt, error } = await app.events.retried.first();
    expect({ attempt, error }).toEqual({ attempt: 1, error: new Error('payment service is down') });
    expect(await app.events.acked.first()).toMatchObject({ id: '42', attempt: 2 });
    expect(orders.closed).toEqual(['42']);
  });

  it('refuses a second timeout for the same order', async () => {
    const { orders } = await boot();
    await orders.place({ id: '42' });
    await expect(orders.place({ id: '42' })).rejects.toMatchObject({ code: 'DUPLICATE_MESSAGE', id: '42' });
  });
});
