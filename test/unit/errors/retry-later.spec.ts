import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RateLimitedError, RetryLaterError } from '../../../lib/errors/handling.errors.js';

const NOW = Date.UTC(2026, 0, 1, 12);
const later = (milliseconds: number): string => new Date(NOW + milliseconds).toUTCString();

describe('a header Retry-After', () => {
  beforeEach(() => void vi.useFakeTimers({ now: NOW, toFake: ['Date'] }));
  afterEach(() => void vi.useRealTimers());

  it.each([
    ['120', 120_000],
    [' 0 ', 0],
    [later(90_000), 90_000],
    // The clocks of two machines differ.
    [later(-1000), 0],
  ])('is waited for: %j', (header, delay) => {
    expect(RateLimitedError.after(header, { fallback: '5m' })).toMatchObject({ delay, problem: undefined });
  });

  it.each([null, undefined, '', 'soon', '1.5', '-5', '30 s', '9'.repeat(20), later(11 * 366 * 86_400_000)])(
    'that says nothing that can be waited for has the fallback, and by default half a minute: %j',
    (header) => {
      expect(RateLimitedError.after(header).delay).toBe(30_000);
      expect(RateLimitedError.after(header, { fallback: '5m' })).toMatchObject({ delay: 300_000, problem: undefined });
    },
  );
});

describe('a delay that cannot be read', () => {
  it.each([NaN, Number('soon') * 1000, 'soon', '-5m', Infinity, '11y', null as unknown as string])(
    'counts as half a minute, and the error says why, instead of another one that is thrown: %o',
    (delay) => {
      for (const error of [new RetryLaterError(delay), new RateLimitedError(delay)]) {
        expect(error).toMatchObject({ delay: 30_000, problem: expect.stringMatching(/^delay must be /) as string });
      }
    },
  );
});
