import { Registry, register } from 'prom-client';
import { prometheusMetrics, type PrometheusMetricsOptions } from 'nestjs-delay-queue/prometheus';
import { describe, expect, it } from 'vitest';
import { ConfigurationError } from '../../../lib/errors/options.errors.js';
import type { MetricsReading } from '../../../lib/monitoring/delay-queue-metrics.interface.js';
import { Scrape } from '../../support/readings/prometheus-text.js';
import { failureOf } from '../../support/units/wrong-options.js';

const NOTHING: MetricsReading = { up: true, clockOffset: 0, topics: [] };

const BACKLOG = {
  scheduled: 5,
  due: 3,
  blocked: 6,
  dead: 2,
  finished: 7,
  retrying: 8,
  oldestOverdue: 1.5,
  unownedPartitions: 1,
  busyReceivers: 9,
  idleReceivers: 10,
  pausedPartitions: 4,
  heldPartitions: 6,
};

async function scrape(registry: Registry): Promise<Scrape> {
  return new Scrape(await registry.metrics());
}

describe('the options of prometheusMetrics()', () => {
  it.each<[string, unknown]>([
    ["no option 'prefx' in its options. Did you mean 'prefix'?", { prefx: 'a' }],
    ['Its options must be an object', null],
    ['registry must be a Registry of prom-client. Given: null', { registry: null }],
    ['registry must be a Registry', { registry: {} }],
    ["prefix must be letters, digits, '_' and ':'", { prefix: 'delay-queue-' }],
    ['prefix must be', { prefix: '1a' }],
    ['prefix must be', { prefix: '' }],
    ["no option 'duration' in buckets", { buckets: { duration: [1] } }],
    ['buckets.lateness must be numbers of seconds above 0, ascending. Given: []', { buckets: { lateness: [] } }],
    ['buckets.handler must be', { buckets: { handler: [1, 1] } }],
    ['buckets.script must be', { buckets: { script: [0, 1] } }],
    ['buckets.script must be', { buckets: { script: [1, Infinity] } }],
    ['buckets.script must be', { buckets: { script: 1 } }],
  ])('are refused if wrong: %s', (message, options) => {
    const error = failureOf(() => prometheusMetrics(options as PrometheusMetricsOptions));
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error.message).toContain('prometheusMetrics(): ');
    expect(error.message).toContain(message);
  });

  it('name and divide the metrics', async () => {
    const registry = new Registry();
    const metrics = prometheusMetrics({ registry, prefix: 'shop_', buckets: { lateness: [1, 2] } });
    metrics.open('default', async () => NOTHING);
    metrics.observeLateness('jobs', 1.5);
    const { samples } = await scrape(registry);
    expect(samples.every(({ name }) => name.startsWith('shop_'))).toBe(true);
    const buckets = samples.filter(({ name }) => name === 'shop_lateness_seconds_bucket');
    expect(buckets.map(({ labels: { le }, value }) => [le, value])).toEqual([
      ['1', 0],
      ['2', 1],
      ['+Inf', 1],
    ]);
  });

  it('use the registry of prom-client by default', () => {
    const close = prometheusMetrics().open('default', async () => NOTHING);
    expect(register.getSingleMetric('delay_queue_up')).toBeDefined();
    close();
    expect(register.getMetricsAsArray()).toEqual([]);
  });
});

describe('prometheusMetrics()', () => {
  it('counts and observes by topic, outcome and script', async () => {
    const registry = new Registry();
    const metrics = prometheusMetrics({ registry });
    metrics.open('default', async () => NOTHING);
    metrics.countPublished('jobs', 'created');
    metrics.countPublished('jobs', 'created');
    metrics.countPublished('jobs', 'failed');
    metrics.countHandled('jobs', 'acked');
    metrics.countError('claim');
    metrics.observeLateness('jobs', 0.5);
    metrics.observeHandler('jobs', 0.25);
    metrics.observeScript('claim', 0.002);
    const result = await scrape(registry);
    expect(result.value('delay_queue_published_total', { topic: 'jobs', outcome: 'created' })).toBe(2);
    expect(result.value('delay_queue_published_total', { topic: 'jobs', outcome: 'failed' })).toBe(1);
    expect(result.value('delay_queue_handled_total', { topic: 'jobs', outcome: 'acked' })).toBe(1);
    expect(result.value('delay_queue_errors_total', { source: 'claim' })).toBe(1);
    expect(result.value('delay_queue_lateness_seconds_sum', { topic: 'jobs' })).toBe(0.5);
    expect(result.value('delay_queue_handler_duration_seconds_sum', { topic: 'jobs' })).toBe(0.25);
    expect(result.value('delay_queue_script_duration_seconds_sum', { script: 'claim' })).toBe(0.002);
  });

  it('shows only what was read', async () => {
    const registry = new Registry();
    let reading: MetricsReading = {
      up: true,
      clockOffset: -0.25,
      topics: [
        {
          topic: 'jobs',
          consumed: { ownedPartitions: 8, handling: 7, abandonedRuns: 2, limited: 3, starved: 0 },
          backlog: BACKLOG,
        },
        { topic: 'mails', consumed: undefined, backlog: undefined },
      ],
    };
    prometheusMetrics({ registry }).open('default', async () => reading);
    const full = await scrape(registry);
    expect(full.samples.filter(({ labels }) => labels['topic'] === 'mails')).toEqual([]);
    const shown = full.samples.map(({ name, labels: { topic }, value }) => [name, topic, value]);
    expect(shown).toEqual(
      expect.arrayContaining([
        ['delay_queue_up', undefined, 1],
        ['delay_queue_clock_offset_seconds', undefined, -0.25],
        ['delay_queue_handling', 'jobs', 7],
        ['delay_queue_abandoned_runs', 'jobs', 2],
        ['delay_queue_owned_partitions', 'jobs', 8],
        ['delay_queue_scheduled', 'jobs', 5],
        ['delay_queue_due', 'jobs', 3],
        ['delay_queue_dead', 'jobs', 2],
        ['delay_queue_oldest_overdue_seconds', 'jobs', 1.5],
        ['delay_queue_unowned_partitions', 'jobs', 1],
        ['delay_queue_paused_partitions', 'jobs', 4],
        ['delay_queue_held_partitions', 'jobs', 6],
        ['delay_queue_retrying', 'jobs', 8],
        ['delay_queue_busy_receivers', 'jobs', 9],
        ['delay_queue_idle_receivers', 'jobs', 10],
        ['delay_queue_limited_seconds', 'jobs', 3],
      ]),
    );
    reading = {
      up: false,
      clockOffset: 0,
      topics: [
        {
          topic: 'jobs',
          consumed: { ownedPartitions: 8, handling: 7, abandonedRuns: 2, limited: 3, starved: 0 },
          backlog: undefined,
        },
      ],
    };
    const partial = await scrape(registry);
    expect(partial.value('delay_queue_up')).toBe(0);
    expect(partial.value('delay_queue_handling', { topic: 'jobs' })).toBe(7);
    expect(partial.values('delay_queue_dead')).toEqual([]);
    expect(partial.values('delay_queue_oldest_overdue_seconds')).toEqual([]);
  });

  it('uses one reading for all gauges of a scrape, and for simultaneous scrapes', async () => {
    const registry = new Registry();
    let readings = 0;
    prometheusMetrics({ registry }).open('default', async () => {
      readings++;
      return NOTHING;
    });
    await Promise.all([registry.metrics(), registry.metrics(), registry.getMetricsAsJSON()]);
    expect(readings).toBe(1);
    await registry.metrics();
    expect(readings).toBe(2);
  });

  it('is in the registry while a module of its connection is open', async () => {
    const registry = new Registry();
    const metrics = prometheusMetrics({ registry });
    metrics.countPublished('jobs', 'created');
    expect(registry.getMetricsAsArray()).toEqual([]);
    const close = metrics.open('default', async () => NOTHING);
    const closeSecond = metrics.open('default', async () => ({ ...NOTHING, up: false }));
    expect((await scrape(registry)).value('delay_queue_up')).toBe(0);
    closeSecond();
    expect((await scrape(registry)).value('delay_queue_up')).toBe(1);
    close();
    expect(registry.getMetricsAsArray()).toEqual([]);
    metrics.open('default', async () => NOTHING);
    expect((await scrape(registry)).value('delay_queue_published_total')).toBe(1);
  });

  it('refuses a second connection, and names that are taken', () => {
    const registry = new Registry();
    const metrics = prometheusMetrics({ registry });
    const close = metrics.open('default', async () => NOTHING);
    const own = registry.getMetricsAsArray();
    const second = failureOf(() => metrics.open('billing', async () => NOTHING));
    expect(second).toBeInstanceOf(ConfigurationError);
    expect(second.message).toContain("connection 'billing'");
    const other = prometheusMetrics({ registry });
    expect(failureOf(() => other.open('billing', async () => NOTHING)).message).toContain("prefix 'delay_queue_'");
    expect(registry.getMetricsAsArray()).toEqual(own);
    prometheusMetrics({ registry, prefix: 'billing_' }).open('billing', async () => NOTHING);
    close();
    expect(() => other.open('billing', async () => NOTHING)).not.toThrow();
  });
});
