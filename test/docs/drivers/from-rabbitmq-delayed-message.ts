import { ClientRMQ } from '@nestjs/microservices';
import type { ConfirmChannel, ConsumeMessage } from 'amqplib';
import { expect, it, vi } from 'vitest';
import { bootApplication } from '../../support/docs/application.js';
import type { DrivenDocument } from '../../support/docs/driven-document.js';
import { type Declared, classIn } from '../../support/docs/run-block.js';
import { boot } from '../../support/kit/kit-bed.js';

// What a RabbitMQ makes of it is tested in test/extended/from-rabbitmq-delayed-message.spec.ts.
export function fromRabbitmqDelayedMessage(document: DrivenDocument): void {
  document.drive('Before #1', (run) => {
    it('publishes with x-delay', async () => {
      const { channel, published } = spiedChannel();
      const declared = await run({ rabbit: '', channel });
      const { module } = await boot({ imports: [classIn(declared, 'ShopModule')] });
      await publishBoth(module.get(ordersIn(declared)));

      expect(published).toEqual(
        messagesOn('orders.delayed', { timeout: { 'x-delay': '1800000' }, reminder: { 'x-delay': 86_400_000 } }),
      );
    });
  });

  document.drive('Before #2', (run) => {
    it('handles an event, and what has the payload alone', async () => {
      const { channel, consume, ack } = spiedChannel();
      const closed: unknown[] = [];
      const reminded: unknown[] = [];
      const declared = await run({
        rabbit: '',
        channel,
        closeOrder: async (order) => void closed.push(order),
        remind: (...cart) => void reminded.push(cart),
      });
      const events = new (classIn<{ onTimeout(order: unknown): Promise<void> }>(declared, 'BillingEvents'))();
      await events.onTimeout({ orderId: '42' });
      const [[queue, onMessage] = []] = consume.mock.calls;
      const content = Buffer.from('{"cartId":"7"}');
      const message = { content, properties: { headers: { 'x-shop': 'eu' } } } as unknown as ConsumeMessage;
      onMessage?.(message);

      expect(closed).toEqual([{ orderId: '42' }]);
      expect(queue).toBe('reminders');
      expect(reminded).toEqual([[{ cartId: '7' }, 'eu']]);
      expect(ack).toHaveBeenCalledWith(message);
    });
  });

  document.drive('Bind the queues to a plain exchange #1', (run) => {
    it('declares the exchange before it binds the queues', async () => {
      const calls: unknown[] = [];
      const record = async (...call: unknown[]) => void calls.push(call);
      await run({ channel: { assertExchange: record, bindQueue: record } as unknown as ConfirmChannel });

      expect(calls).toEqual([
        ['orders.due', 'topic', { durable: true }],
        ['billing', 'orders.due', 'order.timeout'],
        ['reminders', 'orders.due', 'cart.reminder'],
      ]);
    });
  });

  document.drive('After #1', (run) => {
    it('publishes the same without x-delay, once it is due', async () => {
      const { published } = spiedChannel();
      const declared = await run({ rabbit: '' });
      const { app, harness } = await bootApplication({ imports: [classIn(declared, 'ShopModule')] });
      await publishBoth(app.get(ordersIn(declared)));
      const [timeout, reminder] = messagesOn('orders.due', {});

      await harness.advance('30m');
      expect(published).toEqual([timeout]);
      await harness.advance('23h');
      expect(published).toEqual([timeout]);
      await harness.advance('30m');
      expect(published).toEqual([timeout, reminder]);
    });
  });

  document.drive('Or handle the messages here #1', (run) => {
    it('closes the order without RabbitMQ', async () => {
      const closed: unknown[] = [];
      const declared = await run({ closeOrder: async (order) => void closed.push(order) });
      const { harness, producer } = await bootApplication({ providers: [classIn(declared, 'BillingEvents')] });
      await producer.publish('order.timeout', { orderId: '42' }, { delay: '30m' });
      await harness.advance('30m');

      expect(closed).toEqual([{ orderId: '42' }]);
    });
  });
}

/** What both versions of the shop publish with. */
interface Orders {
  placed(orderId: string): Promise<void>;
  abandoned(cartId: string, shop: string): Promise<void>;
}

export function ordersIn(declared: Declared) {
  return classIn<Orders>(declared, 'Orders');
}

export async function publishBoth(orders: Orders): Promise<void> {
  await orders.placed('42');
  await orders.abandoned('7', 'eu');
}

/** What both versions send to RabbitMQ, apart from the exchange and the delays. */
function messagesOn(exchange: string, more: { timeout?: object; reminder?: object }) {
  return [
    {
      exchange,
      key: 'order.timeout',
      content: '{"pattern":"order.timeout","data":{"orderId":"42"}}',
      options: { persistent: true, messageId: '42', headers: more.timeout },
    },
    {
      exchange,
      key: 'cart.reminder',
      content: '{"cartId":"7"}',
      options: {
        persistent: true,
        messageId: '7',
        correlationId: 'cart-7',
        priority: 5,
        headers: { 'x-shop': 'eu', ...more.reminder },
      },
    },
  ];
}

/** Channels that confirm what they keep, for amqplib and in the place of those of Nest's clients. */
function spiedChannel() {
  const published: unknown[] = [];
  const consume = vi.fn<ConfirmChannel['consume']>();
  const ack = vi.fn<ConfirmChannel['ack']>();
  const channel = {
    publish(exchange: string, key: string, content: Buffer, options: object, confirm?: (error: null) => void) {
      published.push({ exchange, key, content: content.toString(), options });
      confirm?.(null);
    },
    waitForConfirms: async () => {},
    close: async () => {},
    consume,
    ack,
  };
  vi.spyOn(ClientRMQ.prototype, 'connect').mockImplementation(async function (this: ClientRMQ) {
    Object.assign(this, { channel });
  });
  return { channel: channel as unknown as ConfirmChannel, published, consume, ack };
}
