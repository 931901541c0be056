/**
 * Reads the header `Retry-After` of a response, which has seconds or a date (RFC 9110, 10.2.3).
 *
 * @returns milliseconds, without an upper bound; `undefined` if the header is missing, or is neither
 */
export function retryAfterOf(header: string | null | undefined): number | undefined {
  const text = header?.trim() ?? '';
  // JavaScript reads nearly everything with a digit as a date, such as '1.5' as one of 2001; dates in the header have a time of day.
  const until = /\d:\d\d/.test(text) ? Date.parse(text) : NaN;
  const wait = /^\d+$/.test(text) ? Number(text) * 1000 : Math.max(0, until - Date.now());
  return Number.isNaN(wait) ? undefined : wait;
}
