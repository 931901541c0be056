import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { createDelayQueueAdmin } from 'nestjs-delay-queue';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { documentedMetrics } from '../../support/docs/documented-metrics.js';
import { readDocument } from '../../support/docs/markdown.js';
import { until } from '../../support/waiting.js';
import { Scrape } from '../../support/readings/prometheus-text.js';
import type { TestProcess } from '../../support/processes/test-process.js';
import { Api } from '../../support/samples/api.js';
import { type Bounds, OrderWatch, type WatchedOrder } from '../../support/samples/order-watch.js';
import { expectToEndInOrder, useSample } from '../../support/samples/sample.js';

const TIMEOUT = { topic: 'order.timeout' };
const SILENT = { log() {}, warn() {}, error() {} };
const LATENESS = 'delay_queue_lateness_seconds';

/**
 * How far off the process's estimate of Redis's clock, and its way from the claim to the handler, may be on a busy host, in
 * seconds. The orders are up to 1.5 s late.
 */
const TOLERANCE = 0.1;

describe('sample/01-order-timeout', () => {
  const sample = useSample('01-order-timeout');
  const redis = new Redis(sample.redisUrl, { lazyConnect: true });
  let service: TestProcess;
  let url: string;
  let api: Api;

  beforeAll(async () => {
    service = sample.start('main', { PAYMENT_WINDOW: '1s' });
    const line = await service.printed('The service runs at ');
    url = / at (\S+) until/.exec(line)?.[1] ?? '';
    api = new Api(url);
  });

  afterAll(() => redis.disconnect());

  it('tells Prometheus what has happened in its story', async () => {
    expect(service.output).toContain('The story came true');
    const story = await scrape();
    const published = (topic: string): unknown =>
      story.value('delay_queue_published_total', { topic, outcome: 'created' });
    expect(['order.timeout', 'receipt.mail', 'shop.reminder'].map(published)).toEqual([5, 1, 1]);
    const handled = story.samples.filter(({ name }) => name === 'delay_queue_handled_total');
    expect(handled.map(({ labels, value }) => `${labels['topic']} ${labels['outcome']} ${value}`).toSorted()).toEqual([
      'order.timeout acked 2',
      'receipt.mail acked 1',
      'receipt.mail retried 2',
      'shop.reminder dead 1',
      'shop.reminder retried 2',
    ]);
    expect(story.value('delay_queue_dead', { topic: 'shop.reminder' })).toBe(1);
    expect(story.value('delay_queue_up')).toBe(1);
  });

  it('has a dashboard with the messages of its story', async () => {
    expect(service.output).toContain(`${url}/queues\n`);
    const page = await fetch(`${url}/queues`);
    expect([page.url, page.status]).toEqual([`${url}/queues/index.html`, 200]);
    const look = async (path: string): Promise<unknown> => (await fetch(`${url}/queues/api/${path}`)).json();
    expect(await look('overview')).toMatchObject({
      topics: [
        { topic: 'order.timeout', finished: 5 },
        { topic: 'receipt.mail', finished: 1 },
        { topic: 'shop.reminder', dead: 1 },
      ],
    });
    expect(await look('dead?topic=shop.reminder')).toMatchObject({ total: 1, groups: [{ count: 1 }] });
  });

  it('has the metrics that the documentation lists, with their types, labels and units', async () => {
    const { families } = await scrape();
    const documented = documentedMetrics(readDocument('docs/monitoring/README.md'));
    expect([...families.keys()].toSorted()).toEqual(documented.map(({ name }) => name).toSorted());
    for (const { name, type, labels } of documented) {
      const family = families.get(name);
      expect(family?.type, name).toBe(type);
      expect(family?.help, name).toMatch(/^[A-Z]/);
      for (const { labels: given } of family?.samples ?? []) {
        const own = Object.keys(given).filter((label) => label !== 'le');
        expect(own.toSorted(), name).toEqual([...labels].toSorted());
      }
      // The name has the unit: seconds, or what is counted.
      expect(name.endsWith('_total'), name).toBe(type === 'counter');
      expect(name.endsWith('_seconds'), name).toBe(type === 'histogram' || /overdue|offset|limited|starved/.test(name));
    }
  });

  it('tells Prometheus the lateness that is seen from outside', async () => {
    const admin = await createDelayQueueAdmin({ redis: sample.redisUrl, prefix: sample.prefix, log: SILENT });
    const watch = new OrderWatch(api, redis);
    const before = await scrape();

    const punctual = await placeOrders(20, watch);
    await allClosed(punctual, watch);
    await admin.pause(TIMEOUT.topic);
    const late = await placeOrders(20, watch);
    const waiting = await until('all to be long due', async () => {
      await watch.look();
      const now = await scrape();
      const overdue = now.value('delay_queue_oldest_overdue_seconds', TIMEOUT) ?? 0;
      // So long that what is seen from outside is exact enough, also on a busy host.
      return overdue >= Math.max(1.5, 20 * watch.longestLook) && now;
    });
    expect(waiting.value('delay_queue_due', TIMEOUT)).toBe(late.length);
    expect(waiting.value('delay_queue_paused_partitions', TIMEOUT)).toBe(8);
    await admin.resume(TIMEOUT.topic);
    await allClosed(late, watch);
    await admin.close();

    const after = await scrape();
    const added = (name: string, labels: Record<string, string> = {}): number =>
      (after.value(name, { ...TIMEOUT, ...labels }) ?? NaN) - (before.value(name, { ...TIMEOUT, ...labels }) ?? NaN);
    const measured = watch.latenesses([...punctual, ...late].map(({ id }) => id));
    expect(measured).toHaveLength(40);
    expect(added(`${LATENESS}_count`)).toBe(40);

    const [least, most] = [sumOf(measured, 'least'), sumOf(measured, 'most')];
    expect(added(`${LATENESS}_sum`)).toBeGreaterThan(least - 40 * TOLERANCE);
    expect(added(`${LATENESS}_sum`)).toBeLessThan(most + 40 * TOLERANCE);
    // Else what is seen from outside would prove nothing. A host that stands still between two looks makes it coarser.
    expect(most).toBeLessThan(2 * least);

    const bounds = after.samples.filter(({ name, labels }) => name === `${LATENESS}_bucket` && isOf(labels));
    expect(bounds.length).toBeGreaterThan(10);
    for (const { le = '' } of bounds.map(({ labels }) => labels)) {
      const bound = le === '+Inf' ? Infinity : Number(le);
      const count = added(`${LATENESS}_bucket`, { le });
      expect(count, le).toBeGreaterThanOrEqual(measured.filter((one) => one.most + TOLERANCE <= bound).length);
      expect(count, le).toBeLessThanOrEqual(measured.filter((one) => one.least - TOLERANCE <= bound).length);
    }
  });

  it('ends in order at SIGTERM, and leaves no key', async () => {
    await expectToEndInOrder(service);
    expect(await redis.keys(`*${sample.prefix}*`)).toEqual([]);
  });

  async function scrape(): Promise<Scrape> {
    const response = await fetch(`${url}/metrics`);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; (charset=utf-8; )?version=0\.0\.4/);
    return new Scrape(await response.text());
  }

  /** Some time apart, so that they are not due at once. */
  async function placeOrders(count: number, watch: OrderWatch): Promise<WatchedOrder[]> {
    const orders: WatchedOrder[] = [];
    for (let i = 0; i < count; i++) {
      orders.push((await api.post<WatchedOrder>('/orders', { item: `tea ${i}` })).body);
      await watch.look();
      await sleep(15);
    }
    return orders;
  }
});

async function allClosed(orders: readonly WatchedOrder[], watch: OrderWatch): Promise<void> {
  const ids = orders.map(({ id }) => id);
  await until('all to be closed', async () => {
    // At once again, as the time between two looks is what is not known.
    for (let i = 0; i < 20; i++) await watch.look();
    return watch.latenesses(ids).length === ids.length;
  });
}

function isOf({ topic }: Readonly<Record<string, string>>): boolean {
  return topic === TIMEOUT.topic;
}

function sumOf(bounds: readonly Bounds[], which: keyof Bounds): number {
  return bounds.reduce((sum, one) => sum + one[which], 0);
}
