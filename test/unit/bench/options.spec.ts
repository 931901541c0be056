import { describe, expect, it } from 'vitest';
import { parseOptions, UsageError } from '../../../bench/options.js';

describe('the command line of the benchmark', () => {
  it('asks for everything three times by default', () => {
    const { figures, runs, quick, whole } = parseOptions([]);
    expect({ runs, quick, whole }).toEqual({ runs: 3, quick: false, whole: true });
    expect(figures.map(({ name }) => name)).toEqual([...new Set(figures.map(({ name }) => name))]);
    expect(figures.length).toBeGreaterThan(10);
  });

  it('chooses figures, in their own order', () => {
    const { figures, whole } = parseOptions(['--only', 'publish,backlog']);
    expect(figures.map(({ name }) => name)).toEqual(['backlog', 'publish']);
    expect(whole).toBe(false);
  });

  it('does not count as the whole benchmark in small sizes', () => {
    expect(parseOptions(['--quick', '--runs', '1'])).toMatchObject({ runs: 1, quick: true, whole: false });
  });

  it.each([
    { args: ['--runs', '0'], says: "--runs must be a number from 1 to 99. Given: '0'." },
    { args: ['--runs', 'two'], says: "Given: 'two'." },
    { args: ['--only', 'publish,pubish'], says: "Given: 'pubish'." },
    { args: ['--quik'], says: "Unknown option '--quik'" },
    { args: ['publish'], says: 'Unexpected argument' },
  ])('is refused with the reason: $args', ({ args, says }) => {
    expect(() => parseOptions(args)).toThrow(UsageError);
    expect(() => parseOptions(args)).toThrow(says);
  });
});
