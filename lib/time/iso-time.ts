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
