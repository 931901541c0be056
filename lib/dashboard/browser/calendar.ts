const DAY = 86_400_000;

/** How many days of the calendar lie between two times, in the zone of this browser: from a Saturday to the next Monday two, whatever the hours. */
export function calendarDays(from: number, to: number): number {
  return Math.round((dayOf(to) - dayOf(from)) / DAY);
}

/** The day as one that has 24 hours, whatever the clocks are set to on it. */
function dayOf(time: number): number {
  const date = new Date(time);
  return Date.UTC(date.getFullYear(), date.getMonth(), date.getDate());
}
