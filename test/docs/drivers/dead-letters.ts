import { Injectable } from '@nestjs/common';
import { DelayedHandler, DelayQueueAdmin, type DelayedMessage, UnrecoverableError } from 'nestjs-delay-queue';
import { expect, it, vi } from 'vitest';
import { type RunningApp, onOwnRedis } from '../../support/app/bed.js';
import { eventually } from '../../support/waiting.js';
import type { DrivenDocument } from '../../support/docs/driven-document.js';
import { classIn } from '../../support/docs/run-block.js';

const TOPIC = 'order.timeout';

interface Order {
  readonly orderId: string;
  readonly currency?: string;
}

/** An order needs a currency. */
@Injectable()
class Orders {
  readonly deliveries: DelayedMessage<Order>[] = [];

  @DelayedHandler(TOPIC)
  onTimeout({ orderId, currency }: Order, message: DelayedMessage<Order>): void {
    this.deliveries.push(message);
    if (orderId === 'lost') throw new UnrecoverableError(`There is no order 'lost' of ${message.id}`);
    if (currency === undefined) throw new TypeError(`Order ${orderId} has no currency`);
  }

  of(id: string): DelayedMessage<Order>[] {
    return this.deliveries.filter((message) => message.id === id);
  }
}

@Injectable()
class AlertService {
  readonly sent: string[] = [];

  async send(text: string): Promise<void> {
    this.sent.push(text);
  }
}

type Start = (...providers: (new (...args: never[]) => object)[]) => Promise<RunningApp>;

/** A test that is given a way to boot applications. */
function onRedis(test: (start: Start) => Promise<void>): () => Promise<void> {
  const options = { defaults: { partitions: 2, attempts: 2, backoff: { type: 'fixed', delay: 1 } } } as const;
  return async () =>
    onOwnRedis(async (own) => test(async (...providers) => own.start({ providers: [Orders, ...providers], options })));
}

export function deadLetters(document: DrivenDocument): void {
  document.drive('Find out why messages failed #1', (run) => {
    it(
      'shows the largest group first, with what differs left out',
      onRedis(async (start) => {
        const app = await start();
        const admin = app.get(DelayQueueAdmin);
        const orders = [
          { id: '01900000-0000-7000-8000-000000000001', orderId: 'lost' },
          { id: '42', orderId: '42' },
          { id: '43', orderId: '43' },
        ];
        for (const { id, orderId } of orders) await app.producer.publish(TOPIC, { orderId }, { id });
        await app.events.dead.take(3);
        const log = vi.spyOn(console, 'log').mockReturnValue();

        const { total } = await run({ admin });

        expect(total).toBe(3);
        expect(log.mock.calls).toEqual([
          [2, 'TypeError: Order <n> has no currency', expect.any(Date)],
          [1, 'UnrecoverableError: There is no order <text> of <uuid>', expect.any(Date)],
        ]);
        const [largest] = (await admin.deadLetterGroups(TOPIC)).groups;
        expect(largest?.lastAt).toEqual(log.mock.calls[0]?.[2]);
        const fingerprint = largest?.fingerprint ?? '';
        expect(await admin.requeue(TOPIC, { fingerprint }, { dryRun: true })).toMatchObject({
          matched: 2,
          changed: 0,
        });
        // What the text below the block says of one of them.
        const letter = await admin.get(TOPIC, '42');
        expect(letter?.failure?.stack).toContain('Order 42 has no currency');
        expect(letter?.history).toMatchObject([
          { attempt: 2, name: 'TypeError', message: 'Order 42 has no currency', duration: expect.any(Number) },
          { attempt: 1, at: expect.any(Date) },
        ]);
      }),
    );
  });

  document.drive('Retry a dead letter #1', (run) => {
    it(
      'requeues one as it was, one with another payload, and those of a filter',
      onRedis(async (start) => {
        const app = await start();
        const admin = app.get(DelayQueueAdmin);
        const orders = app.get(Orders);
        for (const id of ['42', '43', '44'])
          await app.producer.publish(TOPIC, { orderId: id }, { id, headers: { id } });
        await app.producer.publish(TOPIC, { orderId: 'lost' }, { id: 'lost' });
        await app.events.dead.take(4);
        const requeue = admin.requeue.bind(admin);
        const results: object[] = [];
        vi.spyOn(admin, 'requeue').mockImplementation(async (...args) => {
          results.push(await requeue(...args));
          // Without a currency it dies again, so that there is something to requeue.
          if (results.length === 1) await app.events.dead.take(5);
          return { matched: 0, changed: 0, aborted: false, examples: undefined };
        });

        await run({ admin });
        await app.events.dead.take(7);
        await app.events.acked.first();

        expect(results).toEqual([
          { matched: 1, changed: 1, aborted: false },
          { matched: 1, changed: 1, aborted: false },
          { matched: 2, changed: 2, aborted: false },
        ]);
        // All attempts before it, and headers as they were.
        expect(orders.of('42').map(({ attempt }) => attempt)).toEqual([1, 2, 1, 2, 1]);
        expect(orders.of('42').at(-1)).toMatchObject({
          payload: { orderId: '42', currency: 'EUR' },
          headers: { id: '42' },
        });
        expect(orders.of('43')).toHaveLength(4);
        expect(orders.of('44')).toHaveLength(4);
        // It died of something else.
        expect(orders.of('lost')).toHaveLength(1);
        expect(await admin.stats(TOPIC)).toMatchObject({ dead: 3, scheduled: 0, inFlight: 0 });
      }),
    );
  });

  document.drive('Get notified #1', (run) => {
    it(
      'tells a method of the application, once, with what is stored',
      onRedis(async (start) => {
        const declared = await run({ AlertService });
        const app = await start(AlertService, classIn(declared, 'OrderAlerts'));
        await app.producer.publish(TOPIC, { orderId: '42' }, { id: '42' });
        await app.producer.publish(TOPIC, { orderId: '43', currency: 'EUR' }, { id: '43' });
        await app.events.dead.first();
        await app.events.acked.first();

        const { sent } = app.get(AlertService);
        await eventually(() => expect(sent).toHaveLength(1));
        await app.close();
        expect(sent).toEqual(['Order 42 failed 2 times: Order 42 has no currency']);
      }),
    );
  });
}
