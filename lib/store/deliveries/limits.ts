/** No more than `max` deliveries begin within any `per` milliseconds. */
export interface RateLimit {
  readonly max: number;
  readonly per: number;
}

/** What may begin of a topic, or be in flight, at most in the whole fleet. Stored with the topic. */
export interface TopicLimits {
  readonly rate?: (RateLimit & { readonly by: 'topic' | 'key' }) | undefined;
  readonly inFlight?: { readonly topic?: number | undefined; readonly key?: number | undefined } | undefined;
}

/** What a key may have, or the whole topic. */
export interface Limits {
  readonly inFlight?: number | undefined;
  readonly rate?: RateLimit | undefined;
}

/** @returns what all messages of a topic have together; `undefined` if that is not limited */
export function sharedLimits({ rate, inFlight }: TopicLimits): Limits | undefined {
  return limitsOf(rate?.by === 'topic' ? rate : undefined, inFlight?.topic);
}

/** @returns what every key has; `undefined` if that is not limited */
export function keyLimits({ rate, inFlight }: TopicLimits): Limits | undefined {
  return limitsOf(rate?.by === 'key' ? rate : undefined, inFlight?.key);
}

function limitsOf(rate: RateLimit | undefined, inFlight: number | undefined): Limits | undefined {
  return rate || inFlight !== undefined ? { rate, inFlight } : undefined;
}
