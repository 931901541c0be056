import ms from 'ms';
import { InvalidArgumentError } from '../errors/invalid-argument.error.js';
import { describe } from './describe.js';

/**
 * A length of time: milliseconds, or a string in the syntax of the `ms` package (`'30s'`, `'5m'`, `'1.5h'`, `'2 days'`).
 *
 * @publicApi
 */
export type Duration = number | string;

/**
 * Turns a duration into whole milliseconds, rounded up.
 *
 * @param name what the duration is called in the error message
 * @throws InvalidArgumentError where it is no duration, or outside `min` (default 0) to `max` (default unbounded)
 */
export function parseDuration(name: string, value: unknown, bounds: { min?: number; max?: number } = {}): number {
  const { min = 0, max = Number.MAX_SAFE_INTEGER } = bounds;
  const milliseconds = typeof value === 'number' ? value : parseText(value);
  if (milliseconds === undefined || Number.isNaN(milliseconds)) {
    throw new InvalidArgumentError(
      `${name} must be a duration: milliseconds as a number, or a string such as '30m'. Given: ${describe(value)}.`,
    );
  }
  const rounded = Math.ceil(milliseconds);
  if (rounded < min || rounded > max || milliseconds < 0) {
    const limit = max === Number.MAX_SAFE_INTEGER ? `at least ${min} ms` : `between ${min} ms and ${max} ms`;
    throw new InvalidArgumentError(`${name} must be ${limit}. Given: ${describe(value)}.`);
  }
  return rounded;
}

function parseText(value: unknown): number | undefined {
  // `ms` throws on an empty string and on more than 100 characters, and answers undefined to what it cannot read.
  if (typeof value !== 'string' || value.length === 0 || value.length > 100) return undefined;
  return ms(value as ms.StringValue);
}
