import { describe, expect, it } from 'vitest';
import { between } from '../../../bench/client/clock-offset.js';
import { latenessOf } from '../../../bench/client/lateness.js';

describe('lateness', () => {
  it('is counted on the clock of Redis', () => {
    const values = Array.from({ length: 200 }, (_, i) => i);
    expect(latenessOf(values, { offset: 10, error: 0 })).toEqual({ p50: 110, p99: 208, max: 209, early: 0 });
  });

  it('counts as early only what is beyond the uncertainty of the clocks', () => {
    const values = [-3, -2.5, -2, -1, 0, 5];
    expect(latenessOf(values, { offset: 1, error: 1 }).early).toBe(2);
    expect(latenessOf(values, { offset: 1, error: 0 }).early).toBe(3);
    expect(latenessOf(values, { offset: 4, error: 0 }).early).toBe(0);
  });

  it('ignores a lead-in, except for early messages in it', () => {
    const values = [-2, 90, 100, 1, 3, 2];
    expect(latenessOf(values, { offset: 0, error: 1 }, 3)).toEqual({ p50: 2, p99: 3, max: 3, early: 1 });
  });
});

describe('the offset between two measurements', () => {
  it('is as uncertain as each of them plus their difference', () => {
    const offset = between({ offset: 1, error: 0.1 }, { offset: 3, error: 0.2 });
    expect(offset).toEqual({ offset: 2, error: 1.2 });
  });
});
