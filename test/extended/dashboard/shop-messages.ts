import type { DelayQueueAdmin, DelayQueueProducer, DelayQueueSchedules } from 'nestjs-delay-queue';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A payload that would run in a page that took it for HTML. */
export const HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>';

/** What a shop has waiting on an ordinary day, and what has gone wrong in it. */
export async function fillShop(
  producer: DelayQueueProducer,
  admin: DelayQueueAdmin,
  schedules: DelayQueueSchedules,
): Promise<void> {
  const waiting = Array.from({ length: 240 }, (_, i) => ({
    id: `order-${1000 + i}`,
    payload: { order: 1000 + i, customer: `customer-${i % 17}` },
    options: { delay: 20 * MINUTE + Math.round((i / 240) ** 3 * 20 * DAY), tags: [i % 2 === 0 ? 'eu' : 'us'] },
  }));
  await producer.publishMany(
    'order.timeout',
    waiting.map(({ id, payload, options }) => ({ payload, options: { id, ...options } })),
  );
  await producer.publish(
    'order.timeout',
    { order: 42, note: HOSTILE, items: ['tea', 'cups'] },
    {
      id: 'order-42',
      key: 'customer-3',
      delay: '2h',
      tags: ['eu', 'vip'],
      headers: { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', source: 'checkout' },
    },
  );
  for (let i = 0; i < 5; i++) {
    await producer.publish(
      'order.timeout',
      { order: 900 + i },
      { id: `order-${900 + i}`, key: 'customer-9', delay: '5d' },
    );
  }
  for (let i = 0; i < 30; i++)
    await producer.publish('order.timeout', { order: i }, { id: `order-${i}`, delay: 10 * i });
  await schedules.upsert({
    id: 'digest.weekly',
    topic: 'digest.send',
    payload: { weeks: 1, iban: 'DE02120300000000202051' },
    cron: '0 7 * * 1',
    timeZone: 'Europe/Berlin',
  });
  for (let i = 0; i < 6; i++) await producer.publish('image.resize', { image: i }, { id: `image-${i}` });
  for (let i = 0; i < 14; i++)
    await producer.publish('payment.charge', { order: `${300 + i}` }, { id: `charge-${300 + i}` });
  for (let i = 0; i < 3; i++) await producer.publish('email.welcome', { user: i }, { id: `welcome-${i}` });
  for (let i = 0; i < 5; i++)
    await producer.publish('newsletter.send', { issue: i }, { id: `issue-${i}`, delay: '10m' });
  await producer.publish(
    'invoice.send',
    { invoice: 1, iban: 'DE02120300000000202051' },
    { id: 'invoice-0', delay: '3h' },
  );
  await admin.pause('invoice.send', { actor: 'kim@example.com' });
  for (let i = 1; i < 8; i++)
    await producer.publish('invoice.send', { invoice: i, iban: 'DE02' }, { id: `invoice-${i}` });
}

/** What is published within a second of an ordinary day. */
export async function tradeIn(producer: DelayQueueProducer, orders: number): Promise<void> {
  for (let i = 0; i < orders; i++) {
    await producer.publish('order.timeout', { customer: 'customer-1' }, { delay: 1000 + 40 * i });
    if (i % 3 === 0) await producer.publish('stock.count', { order: i }, { delay: 30 * i });
  }
}
