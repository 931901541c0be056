const DAY = 86_400_000;

/** Returns the number of calendar days between two times, in the zone of this browser: two from a Saturday to the next Monday, at any hours. */
export function calendarDays(from: number, to: number): number {
  return Math.round((dayOf(to) - dayOf(from)) / DAY);
}

/** Returns the day as one of 24 hours, even if the clocks change on it. */
function dayOf(time: number): number {
  const date = new Date(time);
  return Date.UTC(date.getFullYear(), date.getMonth(), date.getDate());
}
