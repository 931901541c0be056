import { describe } from '../checks/describe.js';
import { assertOptions } from '../checks/validate.js';
import { ConfigurationError, InvalidArgumentError } from '../errors/options.errors.js';
import type { PrometheusBuckets, PrometheusMetricsOptions } from './prometheus-options.interface.js';

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
  try {
    return checked(options);
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    throw new ConfigurationError(`prometheusMetrics(): ${error.message}`, { cause: error });
  }
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
