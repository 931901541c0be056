import { describe } from '../checks/describe.js';
import { assertOptions } from '../checks/validate.js';
import { InvalidArgumentError } from '../errors/options.errors.js';

/**
 * A time as the clocks of a time zone show it.
 *
 * A time that such clocks skip when summer time begins moves forward as they do: 02:30 becomes 03:30. A time that they show twice when it
 * ends means the first of both.
 *
 * @publicApi
 */
export interface LocalTime {
  /** Date and time without an offset, such as `'2026-12-24T18:00'`; seconds and milliseconds can follow. */
  local: string;
  /** Name in the IANA time zone database, such as `'Europe/Berlin'`. */
  timeZone: string;
}

const LOCAL = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,3}))?)?$/;

/** Time before and after any moment within which no clock changes twice, in milliseconds. */
const DAY = 24 * 60 * 60 * 1000;

/** Most cached formats. Creating one takes a hundred times as long as using it, and a zone can be spelt in many ways. */
const MOST_FORMATS = 1000;
const formats = new Map<string, Intl.DateTimeFormat>();

/**
 * @param name the time's name in error messages
 * @returns epoch milliseconds
 * @throws InvalidArgumentError if it is not a local time
 */
export function localToEpoch(name: string, time: LocalTime): number {
  assertOptions(name, time, ['local', 'timeZone']);
  const { local, timeZone } = time;
  assertTimeZone(`${name}.timeZone`, timeZone);
  const shown = parseLocal(`${name}.local`, local);
  const before = offsetAt(shown - DAY, timeZone);
  const after = offsetAt(shown + DAY, timeZone);
  const times = [shown - before, shown - after].filter((at) => at + offsetAt(at, timeZone) === shown);
  return times.length > 0 ? Math.min(...times) : shown - before;
}

/** @throws InvalidArgumentError if this machine knows no such time zone */
export function assertTimeZone(name: string, timeZone: unknown): asserts timeZone is string {
  try {
    // From Node.js 22 on an offset is accepted as a zone, which a process with Node.js 20 could not read.
    if (typeof timeZone === 'string' && !/^[+-]/.test(timeZone) && formatOf(timeZone)) return;
  } catch {
    // Falls through.
  }
  throw new InvalidArgumentError(
    `${name} must be a time zone of the IANA database, such as 'Europe/Berlin' or 'UTC'. Given: ${describe(timeZone)}.`,
  );
}

/** Returns the time that a clock has to show, as if it were UTC. */
function parseLocal(name: string, local: unknown): number {
  const [, ...fields] = (typeof local === 'string' && LOCAL.exec(local)) || [];
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = fields
    .slice(0, 6)
    .map((field) => Number(field ?? 0));
  const shown = new Date(0);
  shown.setUTCFullYear(year, month - 1, day);
  shown.setUTCHours(hour, minute, second, Number((fields[6] ?? '').padEnd(3, '0')));
  // A day or an hour that does not exist would roll over.
  const isExact = shown.getUTCMonth() === month - 1 && shown.getUTCDate() === day && shown.getUTCHours() === hour;
  if (fields.length > 0 && isExact && minute < 60 && second < 60) return shown.getTime();
  throw new InvalidArgumentError(
    `${name} must be a date and time without an offset, such as '2026-12-24T18:00' or '2026-12-24T18:00:30.500'. ` +
      `Given: ${describe(local)}.`,
  );
}

/** Returns the time by which the clocks of a time zone are ahead of UTC at `time`, in milliseconds. */
export function offsetAt(time: number, timeZone: string): number {
  const seconds = Math.floor(time / 1000) * 1000;
  const shown: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {};
  for (const { type, value } of formatOf(timeZone).formatToParts(seconds)) shown[type] = Number(value);
  const { year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0 } = shown;
  return Date.UTC(year, month - 1, day, hour, minute, second) - seconds;
}

/** @throws RangeError if there is no such time zone */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  let format = formats.get(timeZone);
  if (!format) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    if (formats.size >= MOST_FORMATS) formats.clear();
    formats.set(timeZone, format);
  }
  return format;
}
