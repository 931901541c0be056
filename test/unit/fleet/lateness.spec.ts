import { describe, expect, it } from 'vitest';
import { Lateness } from '../../../lib/fleet/work-meter.js';
import { SeededRandom } from '../../support/random.js';

function counted(values: readonly number[]): Lateness {
  const lateness = new Lateness();
  for (const value of values) lateness.add(value);
  return lateness;
}

/** The exact quantile of a list. */
function exact(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1] as number;
}

describe('Lateness', () => {
  it('knows nothing of nothing', () => {
    const lateness = new Lateness();
    expect([lateness.quantile(0.5), lateness.max, lateness.counts]).toEqual([undefined, 0, []]);
  });

  it('is never below the exact quantile, and at most 19 % above it, from microseconds to years', () => {
    const random = new SeededRandom(7);
    for (let round = 0; round < 50; round++) {
      const values = Array.from({ length: 500 }, () => 10 ** (random.integer(-500, 1100) / 100));
      const lateness = counted(values);
      for (const share of [0.01, 0.5, 0.9, 0.99, 1]) {
        const [is, found] = [exact(values, share), lateness.quantile(share) as number];
        expect(found).toBeGreaterThanOrEqual(Math.min(is, lateness.max));
        expect(found).toBeLessThanOrEqual(Math.max(0.25, is * 1.1893));
      }
    }
  });

  it('takes what the clock makes negative, and what is beyond all times', () => {
    const lateness = counted([-0.3, 0, 1e300]);
    expect(lateness.quantile(0.5)).toBe(0.25);
    expect(lateness.max).toBe(1e300);
    expect(lateness.counts).toEqual([0, 2, 164, 1]);
  });

  it('adds up what several processes have counted', () => {
    const [a, b] = [counted([1, 2, 3, 400]), counted([0.1, 2, 50])];
    const both = new Lateness();
    for (const { counts, max } of [a, b]) both.merge(counts, max);

    expect([both.counts, both.max]).toEqual([counted([1, 2, 3, 400, 0.1, 2, 50]).counts, 400]);
  });

  it('makes something of what a later version may count', () => {
    const lateness = new Lateness();
    lateness.merge([1000, 5, 3], 7);
    expect(lateness.quantile(0.5)).toBe(7);
  });
});
