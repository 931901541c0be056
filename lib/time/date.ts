import { isDate } from '../checks/kinds.js';
import { describe } from '../checks/describe.js';
import { InvalidArgumentError } from '../errors/options.errors.js';

/** Allowed forms of a time from outside, as part of a sentence. */
export const TIME_FORMS = "ISO 8601 with its zone, such as '2026-12-24T18:00:00Z', or epoch milliseconds";

/** Pattern of a time. Date and zone are required: a time without a zone would depend on the machine that reads it. */
const ISO = /^\d{4}-\d\d-(\d\d)T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/;

/** Returns the epoch milliseconds of a time in ISO 8601 with its zone; `undefined` if it is not one. */
export function isoToEpoch(text: string): number | undefined {
  const [, day] = ISO.exec(text) ?? [];
  if (day === undefined) return undefined;
  // A day that the month does not have would become one of the next month.
  const date = Date.parse(`${text.slice(0, 10)}T00:00Z`);
  if (Number.isNaN(date) || new Date(date).getUTCDate() !== Number(day)) return undefined;
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}

/** Latest time that a `Date` can hold, in epoch milliseconds. Stored times beyond it are damaged. */
export const MAX_TIME = 8_640_000_000_000_000;

/** Returns a valid date for any number: times stored by other programs can lie beyond all dates. */
export function toDate(time: number): Date {
  return new Date(Math.max(-MAX_TIME, Math.min(time, MAX_TIME)));
}

/** Returns the end of an error message with the right way to give a library's date object; empty for anything else. */
export function adviceOnDate(value: unknown): string {
  if (typeof value !== 'object' || value === null) return '';
  const way = ['toJSDate()', 'toDate()', 'epochMilliseconds'].find((name) => name.replace('()', '') in value);
  return way === undefined ? '' : ` Give its ${way}.`;
}

/**
 * Returns a caller's time in whole epoch milliseconds, rounded up.
 *
 * @throws InvalidArgumentError if it is given but not a valid time
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
