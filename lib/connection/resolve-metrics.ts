import { describe } from '../checks/describe.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import type { DelayQueueMetrics } from '../monitoring/delay-queue-metrics.interface.js';

const FUNCTIONS = [
  'countPublished',
  'countHandled',
  'countError',
  'observeLateness',
  'observeHandler',
  'observeScript',
  'open',
] as const satisfies readonly (keyof DelayQueueMetrics)[];

/** @throws InvalidArgumentError where a function is missing */
export function resolveMetrics(metrics: DelayQueueMetrics | undefined): DelayQueueMetrics | undefined {
  if (metrics === undefined) return undefined;
  const missing = FUNCTIONS.find((name) => typeof (metrics as DelayQueueMetrics | null)?.[name] !== 'function');
  if (missing === undefined) return metrics;
  throw new InvalidArgumentError(
    `metrics must be a DelayQueueMetrics, such as prometheusMetrics() of 'nestjs-delay-queue/prometheus'; it has no function ` +
      `'${missing}'. Given: ${describe(metrics)}.`,
  );
}
