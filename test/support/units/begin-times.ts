import { BeginEstimate, BeginTimes, EXACTNESS } from '../../../lib/consumer/admission/begin-estimate.js';

/** What an answer at local time 0 has permitted. */
export function beginTimes(
  { from = 0, until = from }: { readonly from?: number; readonly until?: number },
  estimate = new BeginEstimate(),
): BeginTimes {
  return new BeginTimes(estimate, { from, until: until + EXACTNESS, lead: from });
}
