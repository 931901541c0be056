import ms from 'ms';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { describe } from '../checks/describe.js';

/**
 * A length of time: milliseconds, or a number with a unit, in the syntax of the `ms` package: `'30s'`, `'5m'`, `'1.5h'`, `'2 days'`. Units
 * are `ms`, `s`, `m` (minutes), `h`, `d`, `w` and `y`, and their names. Several can follow one another: `'1h30m'`. `'M'` is refused, since
 * it could mean minutes or months; so is a text without a unit, except `'0'`.
 *
 * @publicApi
 */
export type Duration = number | string;

const UNITS = 'ms, s, m (minutes), h, d, w, y';

/** Pattern of a number with a unit. A sign is only for single parts. */
const PART = /\d*\.?\d+\s*[a-z]+/gi;

/** Units from the longest to the shortest, in milliseconds; a year has 365.25 days. */
const WORDS: readonly (readonly [length: number, name: string])[] = [
  [365.25 * 24 * 60 * 60 * 1000, 'year'],
  [24 * 60 * 60 * 1000, 'day'],
  [60 * 60 * 1000, 'hour'],
  [60 * 1000, 'minute'],
  [1000, 'second'],
];

/**
 * Turns a duration into whole milliseconds, rounded up.
 *
 * @param name the duration's name in the error message
 * @throws InvalidArgumentError if it is not a duration, or outside `min` (default 0) to `max` (default unbounded)
 */
export function parseDuration(name: string, value: unknown, bounds: { min?: number; max?: number } = {}): number {
  const { min = 0, max = Number.MAX_SAFE_INTEGER } = bounds;
  const milliseconds = typeof value === 'number' ? value : parseText(value);
  if (milliseconds === undefined || Number.isNaN(milliseconds)) {
    throw new InvalidArgumentError(
      `${name} must be a duration: milliseconds as a number, or a number with a unit, such as '30m' or '1h30m'. ` +
        `Units: ${UNITS}.${adviceOn(value)} Given: ${describe(value)}.`,
    );
  }
  const rounded = Math.ceil(milliseconds);
  if (rounded < min || rounded > max || milliseconds < 0) {
    const limit =
      max === Number.MAX_SAFE_INTEGER
        ? `at least ${describeDuration(min)}`
        : `between ${describeDuration(min)} and ${describeDuration(max)}`;
    throw new InvalidArgumentError(`${name} must be ${limit}. Given: ${describe(value)}.`);
  }
  return rounded;
}

/** Describes a duration in the longest unit that needs no fraction: `10 years`, `90 seconds`, `1500 ms`. */
export function describeDuration(milliseconds: number): string {
  const [length, name] = WORDS.find(([unit]) => milliseconds >= unit && milliseconds % unit === 0) ?? [];
  if (length === undefined) return `${milliseconds} ms`;
  const count = milliseconds / length;
  return count === 1 ? `1 ${name}` : `${count} ${name}s`;
}

function parseText(value: unknown): number | undefined {
  // `ms` throws on an empty string and on more than 100 characters, and returns undefined for text that it cannot read.
  if (typeof value !== 'string' || value.length === 0 || value.length > 100) return undefined;
  if (isAmbiguous(value) || !hasUnit(value)) return undefined;
  const parts = value.match(PART) ?? [];
  if (parts.length < 2 || value.replace(PART, '').trim() !== '') return ms(value as ms.StringValue);
  return parts.reduce((sum, part) => sum + ms(part as ms.StringValue), 0);
}

/** Whether a text uses a capital M, which `ms` reads as minutes. */
function isAmbiguous(value: string): boolean {
  return /\d\s*M(?![A-Za-z])/.test(value);
}

/**
 * Whether a text has a unit. `ms` takes a bare number for milliseconds, but not everyone who writes `'30'` means that. Zero needs no unit.
 */
function hasUnit(value: string): boolean {
  return /[a-z]/i.test(value) || Number(value) === 0;
}

function adviceOn(value: unknown): string {
  if (typeof value !== 'string') return '';
  if (/^\s*[\d.]+\s*$/.test(value))
    return ` ${describe(value)} has no unit: write '${value.trim()}ms' or '${value.trim()}s'.`;
  if (isAmbiguous(value)) return ` 'M' could mean minutes or months: write 'm' for minutes.`;
  return /\d\s*mo(?:n|nth)?s?\b/i.test(value) ? ` Months differ in length: write days, such as '30d'.` : '';
}
