import { describe, expect, it } from 'vitest';
import { describeDuration, parseDuration } from '../../../lib/time/duration.js';
import { InvalidArgumentError } from '../../../lib/errors/options.errors.js';
import { shown } from '../../support/shown.js';

describe('parseDuration', () => {
  for (const [given, milliseconds] of [
    [0, 0],
    [1, 1],
    [1500, 1500],
    ['0', 0],
    ['1ms', 1],
    ['30s', 30_000],
    ['30m', 1_800_000],
    ['1.5h', 5_400_000],
    ['2 days', 172_800_000],
    ['1w', 604_800_000],
    ['10y', 315_576_000_000],
    ['1 HOUR', 3_600_000],
    ['5 Minutes', 300_000],
    ['10 MS', 10],
    ['1h30m', 5_400_000],
    ['1h 30m', 5_400_000],
    ['2 days 3 hours', 183_600_000],
    ['1.5h .5s', 5_400_500],
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
    '5m 3',
    '5m -3s',
    '-1h30m',
    '5m 3 parsecs',
    '5m, 3s',
    '1M',
    '1 M',
    '1h1M',
    '1mo',
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

  it('accepts the bounds but nothing beyond', () => {
    const bounds = { min: 100, max: 60_000 };
    expect(parseDuration('wait', 100, bounds)).toBe(100);
    expect(parseDuration('wait', '1m', bounds)).toBe(60_000);
    expect(parseDuration('wait', 99.5, bounds)).toBe(100);
    for (const wrong of [99, 60_001, 60_000.5, '2m', '99ms']) {
      expect(() => parseDuration('wait', wrong, bounds)).toThrow('wait must be between 100 ms and 1 minute.');
    }
  });

  it('names the units if the unit is missing or unknown', () => {
    for (const wrong of ['soon', '5 parsecs', '1mo']) {
      expect(() => parseDuration('delay', wrong)).toThrow(
        "delay must be a duration: milliseconds as a number, or a number with a unit, such as '30m' or '1h30m'. " +
          'Units: ms, s, m (minutes), h, d, w, y.',
      );
    }
  });

  it('refuses a text without a unit, and says what to write', () => {
    for (const wrong of ['30', ' 1.5 ']) {
      expect(() => parseDuration('delay', wrong)).toThrow(
        `'${wrong}' has no unit: write '${wrong.trim()}ms' or '${wrong.trim()}s'. Given: '${wrong}'.`,
      );
    }
  });

  it('refuses a capital M, which could be minutes or months, and says what to write', () => {
    for (const wrong of ['1M', '30 M', '1h30M']) {
      expect(() => parseDuration('delay', wrong)).toThrow(
        `'M' could mean minutes or months: write 'm' for minutes. Given: '${wrong}'.`,
      );
    }
  });

  it('says how to write months', () => {
    for (const wrong of ['1mo', '2 months', '1 Month', '6 mons']) {
      expect(() => parseDuration('delay', wrong)).toThrow(
        "Months differ in length: write days, such as '30d'. Given: ",
      );
    }
  });

  it('says its bounds in words', () => {
    const max = 10 * 365.25 * 24 * 3_600_000;
    expect(() => parseDuration('delay', -1, { max })).toThrow('delay must be between 0 ms and 10 years. Given: -1.');
    expect(() => parseDuration('lease', '999ms', { min: 1000, max })).toThrow('between 1 second and 10 years');
  });

  it('says the lower bound if there is no upper one', () => {
    expect(() => parseDuration('wait', 5, { min: 10 })).toThrow('wait must be at least 10 ms. Given: 5.');
    expect(() => parseDuration('wait', Infinity)).toThrow('wait must be at least 0 ms. Given: Infinity.');
  });
});

describe('describeDuration', () => {
  for (const [milliseconds, words] of [
    [0, '0 ms'],
    [1, '1 ms'],
    [1000, '1 second'],
    [1500, '1500 ms'],
    [30_000, '30 seconds'],
    [90_000, '90 seconds'],
    [3_600_000, '1 hour'],
    [172_800_000, '2 days'],
    [365 * 86_400_000, '365 days'],
    [315_576_000_000, '10 years'],
  ] as const) {
    it(`says '${words}' of ${milliseconds} ms`, () => {
      expect(describeDuration(milliseconds)).toBe(words);
    });
  }
});
