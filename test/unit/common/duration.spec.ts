import { describe, expect, it } from 'vitest';
import { parseDuration } from '../../../lib/common/duration.js';
import { InvalidArgumentError } from '../../../lib/errors/invalid-argument.error.js';
import { shown } from '../../support/contract-shown.js';

describe('parseDuration', () => {
  for (const [given, milliseconds] of [
    [0, 0],
    [1, 1],
    [1500, 1500],
    ['0', 0],
    ['100', 100],
    ['1ms', 1],
    ['30s', 30_000],
    ['30m', 1_800_000],
    ['1.5h', 5_400_000],
    ['2 days', 172_800_000],
    ['1w', 604_800_000],
    ['10y', 315_576_000_000],
    ['1 HOUR', 3_600_000],
  ] as const) {
    it(`reads ${shown(given)} as ${milliseconds} ms`, () => {
      expect(parseDuration('delay', given)).toBe(milliseconds);
    });
  }

  it('rounds fractions of a millisecond up, so that nothing is early', () => {
    expect(parseDuration('delay', 0.1)).toBe(1);
    expect(parseDuration('delay', 10.000001)).toBe(11);
    expect(parseDuration('delay', '0.5ms')).toBe(1);
  });

  for (const wrong of [
    NaN,
    Infinity,
    -Infinity,
    -1,
    -0.5,
    '-5m',
    '',
    ' ',
    'soon',
    '5 parsecs',
    '5m 3s',
    '1e3',
    'x'.repeat(101),
    '1'.repeat(101),
    undefined,
    null,
    true,
    {},
    [],
    ['5m'],
    10n,
    new Date(0),
    Symbol('5m'),
    () => 5,
  ]) {
    it(`refuses ${shown(wrong)}, and names what it is for`, () => {
      expect(() => parseDuration('the delay', wrong)).toThrow(InvalidArgumentError);
      expect(() => parseDuration('the delay', wrong)).toThrow(/^the delay must be .*Given: /);
    });
  }

  it('accepts the bounds themselves and nothing beyond', () => {
    const bounds = { min: 100, max: 60_000 };
    expect(parseDuration('wait', 100, bounds)).toBe(100);
    expect(parseDuration('wait', '1m', bounds)).toBe(60_000);
    expect(parseDuration('wait', 99.5, bounds)).toBe(100);
    for (const wrong of [99, 60_001, 60_000.5, '2m', '99ms']) {
      expect(() => parseDuration('wait', wrong, bounds)).toThrow('wait must be between 100 ms and 60000 ms.');
    }
  });

  it('says the lower bound where there is no upper one', () => {
    expect(() => parseDuration('wait', 5, { min: 10 })).toThrow('wait must be at least 10 ms. Given: 5.');
    expect(() => parseDuration('wait', Infinity)).toThrow('wait must be at least 0 ms. Given: Infinity.');
  });
});
