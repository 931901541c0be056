const UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1000, 's'],
] as const;

/** Returns a duration in its two largest units: `29m 59s`, `3d 4h`; below a second in milliseconds. */
export function shownDuration(milliseconds: number): string {
  const whole = Math.max(0, Math.round(milliseconds));
  if (whole < 1000) return `${whole}ms`;
  const first = UNITS.findIndex(([length]) => whole >= length);
  let rest = whole;
  const parts = UNITS.slice(first, first + 2).flatMap(([length, unit]) => {
    const count = Math.floor(rest / length);
    rest -= count * length;
    return count > 0 ? [`${count}${unit}`] : [];
  });
  return parts.join(' ');
}

/** @param now current time, on the same clock as `time` */
export function relative(time: Date, now: number): string {
  const left = time.getTime() - now;
  if (Math.abs(left) < 1) return 'now';
  return left > 0 ? `in ${shownDuration(left)}` : `${shownDuration(-left)} ago`;
}

/** Returns a time such as `2026-11-23T14:00:00.000Z (in 29m 59s)`; `-` if there is none. */
export function shownTime(time: Date | undefined, now: number): string {
  return time ? `${time.toISOString()} (${relative(time, now)})` : '-';
}
