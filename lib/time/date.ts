/** The latest time that a `Date` can hold, in epoch milliseconds. What is stored beyond it is damaged. */
export const MAX_TIME = 8_640_000_000_000_000;

/** A valid date, whatever the number: what other programs have stored may lie beyond all dates. */
export function toDate(time: number): Date {
  return new Date(Math.max(-MAX_TIME, Math.min(time, MAX_TIME)));
}
