import { describe, expect, it } from 'vitest';
import { ConfigurationError } from '../../../lib/errors/options.errors.js';
import type { DelayQueueModuleOptions } from '../../../lib/connection/delay-queue-options.interface.js';
import { resolveOptions } from '../../../lib/connection/resolve-options.js';
import { recordedMetrics } from '../monitoring/support/recorded-metrics.js';
import { failureOf } from './support/wrong-options.js';

describe("the option 'metrics'", () => {
  it('is nothing where it is left out', () => {
    expect(resolveOptions({}).metrics).toBeUndefined();
  });

  it('is taken as it is', () => {
    const { metrics } = recordedMetrics();
    expect(resolveOptions({ metrics }).metrics).toBe(metrics);
  });

  const { metrics } = recordedMetrics();

  const wrong: (readonly [unknown, string])[] = [
    [null, "no function 'countPublished'"],
    [true, "no function 'countPublished'"],
    [{}, "no function 'countPublished'"],
    ...Object.keys(metrics).map((name) => [{ ...metrics, [name]: 'text' }, `no function '${name}'`] as const),
  ];

  it.each(wrong)('is refused where a function is missing: %o', (given, message) => {
    const error = failureOf(() => resolveOptions({ metrics: given } as unknown as DelayQueueModuleOptions));
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error.message).toContain(message);
    expect(error.message).toContain("prometheusMetrics() of 'nestjs-delay-queue/prometheus'");
  });
});
