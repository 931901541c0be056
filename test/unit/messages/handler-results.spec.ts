import { describe, expect, it } from 'vitest';
import { resultsOf } from '../../../lib/messages/handler-results.js';
import { InvalidArgumentError } from '../../../lib/errors/options.errors.js';
import { shown } from '../../support/shown.js';

describe('resultsOf', () => {
  it('accepts what Promise.allSettled() returns', async () => {
    const results = await Promise.allSettled([Promise.resolve(1), Promise.reject(new Error('down'))]);

    expect(resultsOf(results, 2)).toEqual(results);
  });

  for (const value of [
    undefined,
    null,
    'fulfilled',
    { status: 'fulfilled' },
    [],
    [1, 2],
    [null, undefined],
    Array(3),
    [{ status: 'fulfilled' }, { status: 'shipped' }],
    [{ status: 'fulfilled' }, null],
    new Set([{ status: 'fulfilled' }]),
  ]) {
    it(`does not read ${shown(value)} as results`, () => {
      expect(resultsOf(value, 2)).toBeUndefined();
    });
  }

  it.each([1, 3])('refuses %i results for 2 messages, and says what to return', (count) => {
    const results = Array.from({ length: count }, () => ({ status: 'fulfilled' }));

    expect(() => resultsOf(results, 2)).toThrow(InvalidArgumentError);
    expect(() => resultsOf(results, 2)).toThrow(`called with 2 messages and returned ${count} results`);
    expect(() => resultsOf(results, 2)).toThrow(/Return one for each message/);
  });
});
