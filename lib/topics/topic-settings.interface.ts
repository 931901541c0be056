import type { TopicLimits, TopicOrder } from '../broker/broker.interface.js';
import type { Duration } from '../time/duration.js';
import type { ResolvedBackoff } from '../messages/backoff.js';
import type { PayloadSerializer } from '../messages/serializer.js';

/** A backoff ready to use: resolved, or the user's function. */
export type ActiveBackoff = ResolvedBackoff | ((attempt: number, error: unknown) => Duration);

/** What is set for a topic, defaults filled in. Times in milliseconds. */
export interface TopicSettings {
  /** `undefined`: whatever the topic has already, else {@link DEFAULT_PARTITIONS}. */
  readonly partitions: number | undefined;
  /** `undefined`: whatever the topic has already, else none. */
  readonly order: TopicOrder | 'none' | undefined;
  /** `undefined`: none. */
  readonly limits: TopicLimits | undefined;
  readonly attempts: number;
  readonly backoff: ActiveBackoff;
  readonly timeout: number | undefined;
  readonly expireAfter: number | undefined;
  readonly serializer: PayloadSerializer | undefined;
  readonly deadLetter: { readonly maxAge: number | undefined; readonly maxCount: number | undefined };
}

export const DEFAULT_PARTITIONS = 8;
