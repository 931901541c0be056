import type { TopicLimits } from '../store/deliveries/limits.js';
import { describeDuration } from '../time/duration.js';

/** Text of {@link describeLimits} for no limits. */
export const NO_LIMITS = 'none';

/** Describes limits for messages, such as `at most 50 in 1s, at most 10 in flight`; equal limits have the same text. */
export function describeLimits({ rate, inFlight }: TopicLimits = {}): string {
  const parts = [
    rate && `at most ${rate.max}${rate.by === 'key' ? ' of a key' : ''} in ${describeDuration(rate.per)}`,
    inFlight?.topic !== undefined && `at most ${inFlight.topic} in flight`,
    inFlight?.key !== undefined && `at most ${inFlight.key} of a key in flight`,
  ].filter(Boolean);
  return parts.length === 0 ? NO_LIMITS : parts.join(', ');
}
