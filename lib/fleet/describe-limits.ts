import type { TopicLimits } from '../store/deliveries/limits.js';
import { describeDuration } from '../time/duration.js';

/** What {@link describeLimits} says of none. */
export const NO_LIMITS = 'none';

/** Such as `at most 50 in 1s, at most 10 in flight`, for messages; limits that are alike have the same text. */
export function describeLimits({ rate, inFlight }: TopicLimits = {}): string {
  const parts = [
    rate && `at most ${rate.max}${rate.by === 'key' ? ' of a key' : ''} in ${describeDuration(rate.per)}`,
    inFlight?.topic !== undefined && `at most ${inFlight.topic} in flight`,
    inFlight?.key !== undefined && `at most ${inFlight.key} of a key in flight`,
  ].filter(Boolean);
  return parts.length === 0 ? NO_LIMITS : parts.join(', ');
}
