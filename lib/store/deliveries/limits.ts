/** Limit of `max` deliveries that begin within any `per` milliseconds. */
export interface RateLimit {
  readonly max: number;
  readonly per: number;
}

/** Most deliveries of a topic that begin, or are in flight, in the whole fleet. Stored with the topic. */
export interface TopicLimits {
  readonly rate?: (RateLimit & { readonly by: 'topic' | 'key' }) | undefined;
  readonly inFlight?: { readonly topic?: number | undefined; readonly key?: number | undefined } | undefined;
}

/** Limits of a key, or of the whole topic. */
export interface Limits {
  readonly inFlight?: number | undefined;
  readonly rate?: RateLimit | undefined;
}

/** @returns the limits of all messages of a topic together; `undefined` if there are none */
export function sharedLimits({ rate, inFlight }: TopicLimits): Limits | undefined {
  return limitsOf(rate?.by === 'topic' ? rate : undefined, inFlight?.topic);
}

/** @returns the limits of every key; `undefined` if there are none */
export function keyLimits({ rate, inFlight }: TopicLimits): Limits | undefined {
  return limitsOf(rate?.by === 'key' ? rate : undefined, inFlight?.key);
}

function limitsOf(rate: RateLimit | undefined, inFlight: number | undefined): Limits | undefined {
  return rate || inFlight !== undefined ? { rate, inFlight } : undefined;
}
