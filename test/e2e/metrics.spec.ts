import { setTimeout } from 'node:timers/promises';
import { RetryLaterError, UnrecoverableError } from 'nestjs-delay-queue';
import { prometheusMetrics } from 'nestjs-delay-queue/prometheus';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import type { Scrape } from '../support/prometheus-text.js';
import { useBed } from './support/bed.js';
import { Jobs } from './support/jobs.js';
import { startScraped } from './support/scraped.js';
import { Gate, eventually } from './support/waiting.js';

const bed = useBed();

const OPTIONS = { defaults: { partitions: 1, backoff: { type: 'fixed' as const, delay: 10 } } };

async function start() {
  const scraped = await startScraped(bed, { providers: [Jobs], options: OPTIONS });
  const { producer, events } = scraped.app;
  return { ...scraped, producer, events, jobs: scraped.app.get(Jobs) };
}

/** Counts of deliveries by outcome. */
function handled(scrape: Scrape): Record<string, number> {
  const samples = scrape.samples.filter(({ name }) => name === 'delay_queue_handled_total');
  return Object.fromEntries(samples.map(({ labels, value }) => [labels['outcome'], value]));
}

describe('the metrics of an application', () => {
  it('count publishes by outcome', async () => {
    const { producer, scrape } = await start();
    await producer.publish('jobs', 1, { id: 'a', delay: '1h' });
    await producer.publishMany('jobs', [{ payload: 1, options: { delay: '1h' } }, { payload: 2 }]);
    await producer.publish('jobs', 2, { id: 'a', onDuplicate: 'ignore' });
    await producer.publish('jobs', 3, { id: 'a', onDuplicate: 'replace', delay: '1h' });
    await producer.publish('jobs', 4, { id: 'a' }).catch(() => {});
    await producer.publish('jobs', 'x'.repeat(2 ** 21)).catch(() => {});
    const result = await scrape();
    expect(result.value('delay_queue_published_total', { topic: 'jobs', outcome: 'created' })).toBe(3);
    expect(result.value('delay_queue_published_total', { topic: 'jobs', outcome: 'duplicate' })).toBe(2);
    expect(result.value('delay_queue_published_total', { topic: 'jobs', outcome: 'refused' })).toBe(2);
    expect(result.values('delay_queue_published_total', { outcome: 'failed' })).toEqual([]);
  });

  it('count deliveries by outcome', async () => {
    const { producer, events, jobs, scrape } = await start();
    const answers: Record<string, unknown[]> = {
      fine: [],
      late: [new RetryLaterError(10)],
      flaky: [new Error('once'), new Error('twice')],
      hopeless: [new UnrecoverableError('never')],
    };
    jobs.respond = (payload) => {
      const error = answers[payload as string]?.shift();
      if (error) throw error;
    };
    await producer.publishMany(
      'jobs',
      Object.keys(answers).map((payload) => ({ payload })),
    );
    await events.acked.take(3);
    await events.dead.first();
    expect(handled(await scrape())).toEqual({ acked: 3, retried: 3, dead: 1 });
  });

  it('observe lateness and running time as the handler itself measures them', async () => {
    const { producer, events, jobs, scrape } = await start();
    const offset = (await bed.time()) - Date.now();
    const latenesses: number[] = [];
    jobs.respond = async (_payload, { dueAt }) => {
      latenesses.push(performance.timeOrigin + performance.now() + offset - dueAt.getTime());
      await setTimeout(30);
    };
    const messages = Array.from({ length: 50 }, (_, i) => ({ payload: i, options: { delay: 20 + i * 4 } }));
    // One that waited for a consumer, so that there is a lateness worth the name.
    await producer.publish('jobs', 'old', { deliverAt: (await bed.time()) - 90_000 });
    await producer.publishMany('jobs', messages);
    await events.acked.take(51);

    const result = await scrape();
    const of = (metric: string): number => result.value(`delay_queue_${metric}`, { topic: 'jobs' }) ?? NaN;
    const sum = latenesses.reduce((total, lateness) => total + lateness, 0) / 1000;
    expect(of('lateness_seconds_count')).toBe(51);
    // The message is handed over a moment before the handler looks at its clock.
    expect(Math.abs(of('lateness_seconds_sum') - sum) / 51).toBeLessThan(0.005);
    for (const bound of ['0.25', '60', '300']) {
      const measured = latenesses.filter((lateness) => lateness <= Number(bound) * 1000).length;
      expect(result.value('delay_queue_lateness_seconds_bucket', { topic: 'jobs', le: bound })).toBe(measured);
    }
    expect(of('handler_duration_seconds_count')).toBe(51);
    expect(of('handler_duration_seconds_sum')).toBeGreaterThan(51 * 0.029);
    expect(of('handler_duration_seconds_sum')).toBeLessThan(51 * 0.5);
  });

  it('are what Prometheus can read, with a type and a text for each', async () => {
    const { producer, events, scrape } = await start();
    await producer.publish('jobs', 1);
    await events.acked.first();
    const { types, samples } = await scrape();
    expect(types.get('delay_queue_handled_total')).toBe('counter');
    expect(types.get('delay_queue_lateness_seconds')).toBe('histogram');
    expect(types.get('delay_queue_in_flight')).toBe('gauge');
    for (const { name } of samples) {
      expect([...types.keys()]).toContain(types.has(name) ? name : name.replace(/_(bucket|sum|count)$/, ''));
    }
  });

  it('fail the boot where their names are taken, and are gone from the registry then', async () => {
    const registry = new Registry();
    const first = await bed.start({ options: { ...OPTIONS, metrics: prometheusMetrics({ registry }) } });
    const before = registry.getMetricsAsArray();
    const error = await bed.failingBoot({ options: { ...OPTIONS, metrics: prometheusMetrics({ registry }) } });
    expect(error.message).toContain('Give each connection a prometheusMetrics() of its own');
    expect(registry.getMetricsAsArray()).toEqual(before);
    await first.close();
    expect(registry.getMetricsAsArray()).toEqual([]);
  });
});

describe('the gauges of an application', () => {
  it('tell what it is handling, and stop with it', async () => {
    const { app, registry, producer, jobs, scrape } = await start();
    const gate = new Gate();
    jobs.respond = async () => gate.opened;
    await producer.publishMany('jobs', [{ payload: 1 }, { payload: 2 }, { payload: 3 }]);
    await jobs.called(3);
    expect((await scrape()).value('delay_queue_in_flight', { topic: 'jobs' })).toBe(3);
    gate.open();
    await eventually(async () => expect((await scrape()).value('delay_queue_in_flight', { topic: 'jobs' })).toBe(0));
    await app.close();
    expect(registry.getMetricsAsArray()).toEqual([]);
  });
});
