import { signal } from '@preact/signals';
import { calendarDays } from './calendar.js';
import { language } from './texts/language.js';

/** Offset of the server's clock, by which everything is due, from this browser's clock, in milliseconds. */
const offset = signal(0);

/** Ticks each second, for countdowns. */
const tick = signal(Date.now());
setInterval(() => {
  tick.value = Date.now();
}, 1000);

/** Sets the offset from the time that the server reported a moment ago. */
export function setServerTime(at: string): void {
  const difference = Date.parse(at) - Date.now();
  // The transfer of the answer is part of the difference.
  offset.value = Math.abs(difference) < 1000 ? 0 : difference;
}

/** Returns the time by the server's clock, and again each second. */
export function now(): number {
  return tick.value + offset.value;
}

/** Returns the age of a time by this browser's clock, in milliseconds, and again each second. */
export function ageOf(at: number): number {
  return tick.value - at;
}

/** Times in texts of the server, which does not know the time zone of its reader. */
const TIMES = /\d{4}-\d\d-\d\dT\d\d:\d\d:[\d.]+Z/g;

/** Returns a text of the server with its times shown like all others. */
export function withLocalTimes(words: string): string {
  return words.replaceAll(TIMES, (at) => shortDateTime(at));
}

export function number(value: number): string {
  return new Intl.NumberFormat(language.value, { maximumFractionDigits: value < 10 ? 1 : 0 }).format(value);
}

/** Returns a number in short form, for tables: 12.3K. */
export function compact(value: number): string {
  return new Intl.NumberFormat(language.value, {
    notation: value >= 100_000 ? 'compact' : 'standard',
    maximumFractionDigits: value < 10 || value >= 100_000 ? 1 : 0,
  }).format(value);
}

export function dateTime(time: string | number): string {
  return new Intl.DateTimeFormat(language.value, { dateStyle: 'medium', timeStyle: 'medium', hourCycle: 'h23' }).format(
    new Date(time),
  );
}

/** Returns a date and time, without the year if it is the current one. */
export function shortDateTime(time: string | number): string {
  const date = new Date(time);
  return new Intl.DateTimeFormat(language.value, {
    ...(date.getFullYear() !== new Date(now()).getFullYear() && { year: 'numeric' }),
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  }).format(date);
}

/** Returns a time to the millisecond, for events within one second. */
export function exactTime(time: string | number): string {
  return new Intl.DateTimeFormat(language.value, {
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
    fractionalSecondDigits: 3,
  }).format(new Date(time));
}

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
  ['millisecond', 1],
] as const;

/** Returns a duration in its largest units, such as '3h 20m'. */
export function duration(milliseconds: number, units = 2): string {
  const rounded = milliseconds >= 1000 ? Math.round(milliseconds / 1000) * 1000 : Math.round(milliseconds);
  const first = UNITS.findIndex(([, length]) => rounded >= length);
  if (first === -1) return inUnit(0, 'millisecond');
  const parts: string[] = [];
  let rest = rounded;
  for (const [unit, length] of UNITS.slice(first, first + units)) {
    const count = Math.floor(rest / length);
    if (count > 0) parts.push(inUnit(count, unit));
    rest -= count * length;
  }
  return parts.join(' ');
}

const RELATIVE_UNITS = UNITS.filter(
  (unit): unit is Exclude<(typeof UNITS)[number], readonly ['millisecond', 1]> => unit[1] > 1,
);

/** Returns a time as seen from now, such as 'in 5 minutes'. */
export function relative(time: string | number): string {
  const [at, seen] = [new Date(time).getTime(), now()];
  const difference = at - seen;
  const [unit, length] = RELATIVE_UNITS.find(([, size]) => Math.abs(difference) >= size) ?? (['second', 1000] as const);
  // "Tomorrow" is a calendar day.
  const count = unit === 'day' ? calendarDays(seen, at) : Math.trunc(difference / length);
  return new Intl.RelativeTimeFormat(language.value, { numeric: 'auto' }).format(count, unit);
}

function inUnit(count: number, unit: (typeof UNITS)[number][0]): string {
  const style = { style: 'unit', unit, unitDisplay: 'narrow', maximumFractionDigits: 1 } as const;
  return new Intl.NumberFormat(language.value, style).format(count);
}

/** Returns a number of milliseconds as people read lateness. */
export function lateness(milliseconds: number): string {
  if (milliseconds < 10) return inUnit(milliseconds, 'millisecond');
  const areFewSeconds = milliseconds >= 1000 && milliseconds < 10_000;
  return areFewSeconds ? inUnit(milliseconds / 1000, 'second') : duration(milliseconds);
}

/** Returns the part of `host:pid:uuid` that distinguishes processes at a glance. */
export function processName(process: string): string {
  const [host = '', pid = '', id = ''] = process.split(':');
  return id === '' ? process : `${host}:${pid}:${id.slice(-4)}`;
}
