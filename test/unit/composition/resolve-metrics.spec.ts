import { describe, expect, it } from 'vitest';
import { ConfigurationError } from '../../../lib/errors/options.errors.js';
import type { DelayQueueModuleOptions } from '../../../lib/composition/delay-queue-options.interface.js';
import { resolveOptions } from '../../../lib/composition/resolve-options.js';
import { recordedMetrics } from '../../support/units/recorded-metrics.js';
import { failureOf } from '../../support/units/wrong-options.js';

describe("the option 'metrics'", () => {
  it('is undefined by default', () => {
    expect(resolveOptions({}).metrics).toBeUndefined();
  });

  it('is used unchanged', () => {
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

  it.each(wrong)('is refused if a function is missing: %o', (given, message) => {
    const error = failureOf(() => resolveOptions({ metrics: given } as unknown as DelayQueueModuleOptions));
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error.message).toContain(message);
    expect(error.message).toContain("prometheusMetrics() of 'nestjs-delay-queue/prometheus'");
  });
});
