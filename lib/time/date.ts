import { isDate } from '../checks/kinds.js';
import { describe } from '../checks/describe.js';
import { InvalidArgumentError } from '../errors/options.errors.js';

/** What a time from outside may be, in a sentence. */
export const TIME_FORMS = "ISO 8601 with its zone, such as '2026-12-24T18:00:00Z', or epoch milliseconds";

/** Both the date and the zone must be said: a time without one would be that of whichever machine reads it. */
const ISO = /^\d{4}-\d\d-(\d\d)T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/;

/** Epoch milliseconds of a time in ISO 8601 with its zone; `undefined` if it is none. */
export function isoToEpoch(text: string): number | undefined {
  const [, day] = ISO.exec(text) ?? [];
  if (day === undefined) return undefined;
  // A day that the month does not have would be one of the next month.
  const date = Date.parse(`${text.slice(0, 10)}T00:00Z`);
  if (Number.isNaN(date) || new Date(date).getUTCDate() !== Number(day)) return undefined;
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}

/** The latest time that a `Date` can hold, in epoch milliseconds. What is stored beyond it is damaged. */
export const MAX_TIME = 8_640_000_000_000_000;

/** A valid date, whatever the number: what other programs have stored may lie beyond all dates. */
export function toDate(time: number): Date {
  return new Date(Math.max(-MAX_TIME, Math.min(time, MAX_TIME)));
}

/** What to give in place of a date of a library, as the end of an error message; empty for anything else. */
export function adviceOnDate(value: unknown): string {
  if (typeof value !== 'object' || value === null) return '';
  const way = ['toJSDate()', 'toDate()', 'epochMilliseconds'].find((name) => name.replace('()', '') in value);
  return way === undefined ? '' : ` Give its ${way}.`;
}

/**
 * A time that callers give, in whole epoch milliseconds, rounded up.
 *
 * @throws InvalidArgumentError if it is given and is none
 */
export function optionalTime(name: string, value: Date | number | undefined): number | undefined {
  if (value === undefined) return undefined;
  const time = isDate(value) ? value.getTime() : value;
  if (typeof time !== 'number' || !Number.isFinite(time) || time < 0 || time > MAX_TIME) {
    throw new InvalidArgumentError(
      `${name} must be a valid Date or epoch milliseconds. Given: ${describe(value)}.${adviceOnDate(value)}`,
    );
  }
  return Math.ceil(time);
}
