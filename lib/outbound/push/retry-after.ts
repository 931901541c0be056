import { isWithin } from '../../checks/validate.js';

/** Least time that is waited, in milliseconds: a server that asks for none would be asked over and over. */
const LEAST = 1000;

/** Epoch milliseconds of a date in a header; only in the form that HTTP has today, since others are read in different ways. */
const HTTP_DATE = /^\w{3}, \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

export interface RetryAfterContext {
  /** The server's own time, as its answer has it in `Date`. */
  readonly date: string | undefined;
  /** This host's time, in epoch milliseconds. */
  readonly now: number;
  /** Longest time that is waited, in milliseconds. */
  readonly max: number;
}

/**
 * How long a server wants to be left alone, in milliseconds, within what is allowed.
 *
 * @param value of the header `Retry-After`: seconds, or a date, which is read with the server's own clock
 * @returns `undefined` if it says nothing that can be read
 */
export function parseRetryAfter(value: string | undefined, { date, now, max }: RetryAfterContext): number | undefined {
  const text = value?.trim() ?? '';
  const asked = /^\d+$/.test(text) ? Number(text) * 1000 : differenceOf(text, date, now);
  if (asked === undefined) return undefined;
  return Math.min(Math.max(asked, LEAST), max);
}

function differenceOf(until: string, date: string | undefined, now: number): number | undefined {
  const end = parseDate(until);
  return end === undefined ? undefined : end - (parseDate(date ?? '') ?? now);
}

function parseDate(text: string): number | undefined {
  const time = HTTP_DATE.test(text) ? Date.parse(text) : NaN;
  return isWithin(time, 0, Infinity) ? time : undefined;
}
