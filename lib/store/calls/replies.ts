/** Reads a score as Redis writes it; another program may have given a member an infinite one. */
export function toScore(text: string | number | undefined): number {
  return Number(String(text).replace('inf', 'Infinity'));
}

/** Reads a time; scripts write -1 if there is none. */
export function timeOrNone(time: string | number | undefined): number | undefined {
  return time === undefined || Number(time) < 0 ? undefined : Number(time);
}
