import { expect, it } from 'vitest';
import { calendarDays } from '../../../lib/dashboard/browser/calendar.js';

/** On a day of a month, by the clock of this machine. */
function timeOf([day, hour, minute]: readonly [number, number, number]): number {
  return new Date(2026, 10, day, hour, minute).getTime();
}

it.each([
  ['tomorrow, after an hour', [28, 23, 30], [29, 0, 30], 1],
  ['tomorrow, after 47 hours', [28, 0, 30], [29, 23, 30], 1],
  ['the day after tomorrow, after 25 hours', [28, 23, 30], [30, 0, 30], 2],
  ['the day before yesterday, before 25 hours', [28, 0, 30], [26, 23, 30], -2],
] as const)('counts days of the calendar, not hours: %s', (_, from, to, days) => {
  expect(calendarDays(timeOf(from), timeOf(to))).toBe(days);
});
