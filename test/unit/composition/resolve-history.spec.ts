import { ConfigurationError, type DelayQueueModuleOptions } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { MAX_SPANS } from '../../../lib/store/records/process-records.js';
import { resolveOptions } from '../../../lib/composition/resolve-options.js';

function resolve(history: unknown) {
  return resolveOptions({ history } as DelayQueueModuleOptions).history;
}

describe('the option history', () => {
  it.each([
    { keep: '1h', span: 1 },
    { keep: '1d', span: 15 },
    { keep: '7d', span: 120 },
    { keep: '30d', span: 480 },
    { keep: '365d', span: 5760 },
  ])('is divided into spans: $keep', ({ keep, span }) => {
    const history = resolve({ keep });
    expect(history?.span).toBe(span);
    expect((history?.keep ?? 0) / (span * 60_000)).toBeLessThanOrEqual(MAX_SPANS - 1);
  });

  it('is off if it is left out', () => {
    expect(resolve(undefined)).toBeUndefined();
  });

  it.each([
    { given: true, message: 'history must be { keep }. Given: true' },
    { given: { keep: '59m' }, message: 'history.keep' },
    { given: { keep: '366d' }, message: 'history.keep' },
    { given: {}, message: 'history.keep' },
    { given: { keeps: '1d' }, message: 'keeps' },
  ])('is refused: $given', ({ given, message }) => {
    expect(() => resolve(given)).toThrow(ConfigurationError);
    expect(() => resolve(given)).toThrow(message);
  });
});
