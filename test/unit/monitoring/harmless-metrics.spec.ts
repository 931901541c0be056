import { describe, expect, it } from 'vitest';
import type { DelayQueueMetrics } from '../../../lib/monitoring/delay-queue-metrics.interface.js';
import { HarmlessMetrics } from '../../../lib/monitoring/metrics-recorder.js';
import { LogBook } from '../../support/app/log-book.js';
import { recordedMetrics } from '../../support/units/recorded-metrics.js';

const FAILING = new Proxy({} as DelayQueueMetrics, {
  get: () => () => {
    throw new Error('full');
  },
});

function tellAll(metrics: DelayQueueMetrics): void {
  metrics.countPublished('jobs', 'created');
  metrics.countHandled('jobs', 'acked');
  metrics.countError('claim');
  metrics.observeLateness('jobs', 0.1);
  metrics.observeHandler('jobs', 0.2);
  metrics.observeScript('claim', 0.3);
}

describe('HarmlessMetrics', () => {
  it('passes everything on', () => {
    const { metrics, told } = recordedMetrics();
    tellAll(new HarmlessMetrics(metrics, new LogBook()));
    expect(told).toEqual([
      ['countPublished', 'jobs', 'created'],
      ['countHandled', 'jobs', 'acked'],
      ['countError', 'claim'],
      ['observeLateness', 'jobs', 0.1],
      ['observeHandler', 'jobs', 0.2],
      ['observeScript', 'claim', 0.3],
    ]);
  });

  it('logs what they throw once, and continues', () => {
    const logs = new LogBook();
    const harmless = new HarmlessMetrics(FAILING, logs);
    tellAll(harmless);
    tellAll(harmless);
    expect(logs.errors).toEqual(['The metrics failed, this is logged once: full']);
  });

  it('lets the boot fail if they cannot be opened', () => {
    const harmless = new HarmlessMetrics(FAILING, new LogBook());
    expect(() => harmless.open('default', async () => Promise.reject(new Error('not read')))).toThrow('full');
  });
});
