import type { Registry } from 'prom-client';
import { describe } from '../checks/describe.js';
import { asConfiguration, assertOptions } from '../checks/validate.js';
import { InvalidArgumentError } from '../errors/options.errors.js';

/**
 * Upper bounds of histogram buckets, in seconds, ascending; without the last one, which is infinite.
 *
 * @publicApi
 */
export interface PrometheusBuckets {
  /** Of the time from when a message is due until it is handed to its handler. @defaultValue 1 ms to 1 h */
  lateness?: readonly number[];
  /** Of the running time of handlers. @defaultValue 1 ms to 10 min */
  handler?: readonly number[];
  /** Of the round trip of a script. @defaultValue 0.25 ms to 5 s */
  script?: readonly number[];
}

/**
 * Options of {@link prometheusMetrics}.
 *
 * @publicApi
 */
export interface PrometheusMetricsOptions {
  /** Where the metrics are registered while the application runs. @defaultValue the default registry of prom-client */
  registry?: Registry;
  /** First part of every metric's name. A second connection needs another one. @defaultValue 'delay_queue_' */
  prefix?: string;
  /** Upper bounds of the histograms in seconds, ascending. @defaultValue the library's own */
  buckets?: PrometheusBuckets;
}

const DEFAULT_BUCKETS: Readonly<Required<PrometheusBuckets>> = {
  lateness: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600],
  handler: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600],
  script: [0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
};

export interface CheckedOptions {
  readonly prefix: string;
  readonly buckets: Readonly<Required<PrometheusBuckets>>;
}

/** @throws ConfigurationError that says which option is wrong, and why */
export function checkOptions(options: PrometheusMetricsOptions): CheckedOptions {
  return asConfiguration('prometheusMetrics()', () => checked(options));
}

function checked(options: PrometheusMetricsOptions): CheckedOptions {
  assertOptions('Its options', options, ['registry', 'prefix', 'buckets']);
  const { registry, prefix = 'delay_queue_', buckets = {} } = options;
  if (
    registry !== undefined &&
    typeof (registry as { registerMetric?: unknown } | null)?.registerMetric !== 'function'
  ) {
    throw new InvalidArgumentError(`registry must be a Registry of prom-client. Given: ${describe(registry)}.`);
  }
  if (typeof prefix !== 'string' || !/^[A-Za-z_:][A-Za-z0-9_:]*$/.test(prefix)) {
    throw new InvalidArgumentError(
      `prefix must be letters, digits, '_' and ':', and not begin with a digit, such as 'delay_queue_'. Given: ${describe(prefix)}.`,
    );
  }
  assertOptions('buckets', buckets, Object.keys(DEFAULT_BUCKETS));
  return {
    prefix,
    buckets: {
      lateness: bounds('lateness', buckets.lateness),
      handler: bounds('handler', buckets.handler),
      script: bounds('script', buckets.script),
    },
  };
}

function bounds(name: keyof PrometheusBuckets, given: readonly number[] | undefined): readonly number[] {
  if (given === undefined) return DEFAULT_BUCKETS[name];
  const isAscending =
    Array.isArray(given) &&
    given.length > 0 &&
    given.every((bound, i) => Number.isFinite(bound) && bound > (i === 0 ? 0 : (given[i - 1] as number)));
  if (isAscending) return given;
  throw new InvalidArgumentError(
    `buckets.${name} must be numbers of seconds above 0, ascending. Given: ${describe(given)}.`,
  );
}
