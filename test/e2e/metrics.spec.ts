import { setTimeout } from 'node:timers/promises';
import { RetryLaterError, UnrecoverableError } from 'nestjs-delay-queue';
import { prometheusMetrics } from 'nestjs-delay-queue/prometheus';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import type { Scrape } from '../support/readings/prometheus-text.js';
import { onOwnRedis, useBed } from '../support/app/bed.js';
import { Jobs } from '../support/app/jobs.js';
import { startScraped } from '../support/app/scraped.js';
import { Gate, eventually } from '../support/waiting.js';

const bed = useBed();

const OPTIONS = { defaults: { partitions: 1, backoff: { type: 'fixed' as const, delay: 10 } } };

async function start() {
  const scraped = await startScraped(bed, { providers: [Jobs], options: OPTIONS });
  const { producer, events } = scraped.app;
  return { ...scraped, producer, events, jobs: scraped.app.get(Jobs) };
}

/** The sum of milliseconds, in seconds. */
function seconds(values: number[]): number {
  return values.reduce((total, value) => total + value, 0) / 1000;
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
    const gate = new Gate();
    jobs.respond = async () => {
      await gate.opened;
      throw new Error('in vain');
    };
    await producer.publish('jobs', 'unwanted', { id: 'unwanted' });
    await jobs.called(8);
    await producer.cancel('jobs', 'unwanted');
    gate.open();
    await events.cancelled.first();
    const result = await scrape();
    expect(handled(result)).toEqual({ acked: 3, retried: 3, dead: 1, cancelled: 1 });
    expect(result.value('delay_queue_handler_duration_seconds_count', { topic: 'jobs' })).toBe(8);
  });

  it('observe lateness and running time as the handler itself measures them', async () => {
    const { producer, events, jobs, scrape } = await start();
    const offset = (await bed.time()) - Date.now();
    const latenesses: number[] = [];
    const durations: number[] = [];
    jobs.respond = async (_payload, { dueAt }) => {
      const started = performance.now();
      latenesses.push(performance.timeOrigin + started + offset - dueAt.getTime());
      await setTimeout(300);
      durations.push(performance.now() - started);
    };
    const messages = Array.from({ length: 50 }, (_, i) => ({ payload: i, options: { delay: 20 + i * 4 } }));
    // One message waited for a consumer, so that there is a substantial lateness.
    await bed.publishLate('jobs', 'old', 90_000);
    await producer.publishMany('jobs', messages);
    await events.acked.take(51);

    const result = await scrape();
    const of = (metric: string): number => result.value(`delay_queue_${metric}`, { topic: 'jobs' }) ?? NaN;
    // The library looks at its clock before the handler starts and after it ends. A measurement taken at the wrong
    // end of the handler would be 0.3 s off; half of that is room for a busy host.
    const before = (seconds(latenesses) - of('lateness_seconds_sum')) / 51;
    expect(before).toBeGreaterThan(-0.15);
    expect(before).toBeLessThan(0.15);
    const around = (of('handler_duration_seconds_sum') - seconds(durations)) / 51;
    expect(around).toBeGreaterThan(-0.001);
    expect(around).toBeLessThan(0.15);
    expect(of('lateness_seconds_count')).toBe(51);
    expect(of('handler_duration_seconds_count')).toBe(51);
    for (const bound of ['60', '300']) {
      const measured = latenesses.filter((lateness) => lateness <= Number(bound) * 1000).length;
      expect(result.value('delay_queue_lateness_seconds_bucket', { topic: 'jobs', le: bound })).toBe(measured);
    }
  });

  it('are readable for Prometheus, with a type and a help text for each', async () => {
    const { producer, events, scrape } = await start();
    await producer.publish('jobs', 1);
    await events.acked.first();
    const { types, samples } = await scrape();
    expect(types.get('delay_queue_handled_total')).toBe('counter');
    expect(types.get('delay_queue_lateness_seconds')).toBe('histogram');
    expect(types.get('delay_queue_handling')).toBe('gauge');
    for (const { name } of samples) {
      expect([...types.keys()]).toContain(types.has(name) ? name : name.replace(/_(bucket|sum|count)$/, ''));
    }
  });

  it('fail the boot if their names are taken, and are then gone from the registry', async () => {
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
  it('show what it is handling, and end with it', async () => {
    const { app, registry, producer, jobs, scrape } = await start();
    const gate = new Gate();
    jobs.respond = async () => gate.opened;
    await producer.publishMany('jobs', [{ payload: 1 }, { payload: 2 }, { payload: 3 }]);
    await jobs.called(3);
    expect((await scrape()).value('delay_queue_handling', { topic: 'jobs' })).toBe(3);
    gate.open();
    await eventually(async () => expect((await scrape()).value('delay_queue_handling', { topic: 'jobs' })).toBe(0));
    await app.close();
    expect(registry.getMetricsAsArray()).toEqual([]);
  });
});

const JOBS = { topic: 'jobs' };
const TOPIC_GAUGES = ['scheduled', 'due', 'dead', 'oldest_overdue_seconds', 'unowned_partitions', 'paused_partitions'];

/** The topic's gauges in a scrape. */
function reported(scrape: Scrape): string[] {
  return TOPIC_GAUGES.filter((name) => scrape.values(`delay_queue_${name}`, JOBS).length > 0);
}

describe('the gauges of a topic', () => {
  const setup = { providers: [Jobs], options: { defaults: { partitions: 8 }, consumer: { maxIdleWait: 200 } } };

  it('are reported by one process at a time, and by another one once it is gone', async () => {
    const first = await startScraped(bed, setup);
    const second = await startScraped(bed, setup);
    const apps = [first, second];
    await first.app.producer.publishMany(
      'jobs',
      Array.from({ length: 100 }, (_, i) => ({ payload: i, options: { delay: '1h' } })),
    );
    const owned = async (): Promise<(number | undefined)[]> =>
      Promise.all(apps.map(async ({ scrape }) => (await scrape()).value('delay_queue_owned_partitions', JOBS)));
    await eventually(async () => expect(await owned()).toEqual([4, 4]));
    // A reading is reused for a second.
    const scrapes = await eventually(async () => {
      const both = await Promise.all(apps.map(async ({ scrape }) => scrape()));
      expect(both.flatMap(reported)).toEqual(TOPIC_GAUGES);
      return both;
    });
    const reporter = scrapes.findIndex((scrape) => reported(scrape).length > 0);
    const told = scrapes[reporter] as Scrape;
    expect(told.value('delay_queue_scheduled', JOBS)).toBe(100);
    expect(told.value('delay_queue_unowned_partitions', JOBS)).toBe(0);

    await apps[reporter]?.app.close();
    const other = apps[1 - reporter];
    await eventually(async () => {
      const scrape = await other?.scrape();
      expect(scrape?.value('delay_queue_scheduled', JOBS)).toBe(100);
      expect(scrape?.value('delay_queue_owned_partitions', JOBS)).toBe(8);
    });
  });

  it('are reported by a process that only publishes if nobody handles the topic', async () => {
    const { app, scrape } = await startScraped(bed, { options: { ...setup.options, consumer: false } });
    await bed.publishLate('jobs', 1, 5000);
    await app.producer.publish('jobs', 2, { delay: '1h' });
    const result = await scrape();
    expect(result.value('delay_queue_scheduled', JOBS)).toBe(2);
    expect(result.value('delay_queue_due', JOBS)).toBe(1);
    expect(result.value('delay_queue_oldest_overdue_seconds', JOBS)).toBeGreaterThanOrEqual(5);
    expect(result.value('delay_queue_oldest_overdue_seconds', JOBS)).toBeLessThan(15);
    expect(result.value('delay_queue_unowned_partitions', JOBS)).toBe(8);
    expect(result.values('delay_queue_owned_partitions')).toEqual([]);
    expect(result.values('delay_queue_handling')).toEqual([]);
  });

  it('cost one look, however many scrapes come at once', async () => {
    const { app, scrape } = await startScraped(bed, setup);
    const looks = async (): Promise<number> =>
      (await scrape()).value('delay_queue_script_duration_seconds_count', { script: 'stats' }) ?? 0;
    await app.producer.publish('jobs', 1, { delay: '1h' });
    // The next scrape, which shares the reading, shows what this one costs.
    await looks();
    const before = await looks();
    // The first partition tells whether this process reports the topic; one call is about the other seven.
    expect(before).toBeGreaterThanOrEqual(2);
    // After that the reading is outdated.
    await setTimeout(1100);
    await Promise.all(Array.from({ length: 50 }, async () => scrape()));
    const cost = (await looks()) - before;
    expect(cost).toBeGreaterThanOrEqual(2);
    // A busy host takes more than a second, and then another reading; looks of their own would cost 2 for each of the 50.
    expect(cost).toBeLessThan(50);
  });
});

describe('a scrape while Redis is away', () => {
  it('tells what the process knows, counts what fails, and tells all again once Redis is back', async () => {
    await onOwnRedis(async (own, server) => {
      const { app, scrape } = await startScraped(own, {
        providers: [Jobs],
        options: { ...OPTIONS, publishTimeout: 300, consumer: { maxIdleWait: 200 } },
      });
      await app.producer.publish('jobs', 1, { delay: '1h' });
      expect((await scrape()).value('delay_queue_up')).toBe(1);
      await server.kill();
      await app.producer.publish('jobs', 2).catch(() => {});
      const away = await eventually(async () => {
        const result = await scrape();
        expect(result.value('delay_queue_up')).toBe(0);
        expect(result.value('delay_queue_errors_total', { source: 'membership' })).toBeGreaterThan(0);
        return result;
      });
      expect(away.value('delay_queue_published_total', { topic: 'jobs', outcome: 'failed' })).toBe(1);
      expect(away.value('delay_queue_handling', JOBS)).toBe(0);
      expect(away.values('delay_queue_scheduled')).toEqual([]);
      await server.start();
      await eventually(async () => {
        const back = await scrape();
        expect(back.value('delay_queue_up')).toBe(1);
        expect(back.value('delay_queue_unowned_partitions', JOBS)).toBe(0);
      });
    });
  });
});

describe('the latency of scripts', () => {
  it('is observed for each script by its name', async () => {
    const { producer, events, scrape } = await start();
    await producer.publish('jobs', 1);
    await events.acked.first();
    await scrape();
    const result = await scrape();
    for (const script of ['probe', 'configure', 'acquire', 'publish', 'claim', 'settle', 'stats']) {
      const count = result.value('delay_queue_script_duration_seconds_count', { script }) ?? 0;
      const sum = result.value('delay_queue_script_duration_seconds_sum', { script }) ?? 0;
      expect([script, count > 0, sum > 0, sum / count < 1]).toEqual([script, true, true, true]);
    }
  });
});
