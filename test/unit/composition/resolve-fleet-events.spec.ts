import { ConfigurationError, type DelayQueueModuleOptions } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { resolveOptions } from '../../../lib/composition/resolve-options.js';

function resolve(fleetEvents: unknown) {
  return resolveOptions({ fleetEvents } as DelayQueueModuleOptions).fleetEvents;
}

describe('the option fleetEvents', () => {
  it.each([
    { given: undefined, resolved: undefined },
    { given: false, resolved: undefined },
    { given: true, resolved: { maxLength: 100_000 } },
    { given: {}, resolved: { maxLength: 100_000 } },
    { given: { maxLength: 1000 }, resolved: { maxLength: 1000 } },
    { given: { maxLength: 10_000_000 }, resolved: { maxLength: 10_000_000 } },
  ])('is resolved: $given', ({ given, resolved }) => {
    expect(resolve(given)).toEqual(resolved);
  });

  it.each([
    { given: 'yes', message: "fleetEvents must be true, false or { maxLength }. Given: 'yes'" },
    { given: null, message: 'fleetEvents must be true, false or { maxLength }. Given: null' },
    { given: { maxLength: 999 }, message: 'fleetEvents.maxLength' },
    { given: { maxLength: 10_000_001 }, message: 'fleetEvents.maxLength' },
    { given: { maxLength: 1000.5 }, message: 'fleetEvents.maxLength' },
    { given: { length: 1000 }, message: 'length' },
  ])('is refused: $given', ({ given, message }) => {
    expect(() => resolve(given)).toThrow(ConfigurationError);
    expect(() => resolve(given)).toThrow(message);
  });
});
