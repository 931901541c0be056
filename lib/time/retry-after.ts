import { MAX_DELAY } from '../checks/limits.js';

/**
 * Reads the header `Retry-After` of a response, which has seconds or a date (RFC 9110, 10.2.3).
 *
 * @returns milliseconds; `undefined` if the header is missing, or says nothing that can be waited for
 */
export function retryAfterOf(header: string | null | undefined): number | undefined {
  const text = header?.trim() ?? '';
  // JavaScript reads nearly everything with a digit as a date, such as '1.5' as one of 2001; those of the header have a time of day.
  const until = /\d:\d\d/.test(text) ? Date.parse(text) : NaN;
  const wait = /^\d+$/.test(text) ? Number(text) * 1000 : Math.max(0, until - Date.now());
  return wait <= MAX_DELAY ? wait : undefined;
}
