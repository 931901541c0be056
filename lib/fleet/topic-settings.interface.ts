import type { RetentionLimits } from '../store/dead-letters/retention.js';
import type { TopicLimits } from '../store/deliveries/limits.js';
import type { TopicOrder } from '../store/fleet/topic-config.js';
import type { Duration } from '../time/duration.js';
import type { ResolvedBackoff } from '../messages/backoff.js';
import type { PayloadSerializer } from '../messages/serializer.js';

/** A backoff ready to use: resolved, or the user's function. */
export type ActiveBackoff = ResolvedBackoff | ((attempt: number, error: unknown) => Duration);

/** Settings of a topic, defaults filled in. Times in milliseconds. */
export interface TopicSettings {
  /** `undefined`: whatever the topic has already, else {@link DEFAULT_PARTITIONS}. */
  readonly partitions: number | undefined;
  /** `undefined`: whatever the topic has already, else none. */
  readonly order: TopicOrder | 'none' | undefined;
  /** `'at-most-once'`: a message is gone when it is claimed. */
  readonly delivery: 'at-least-once' | 'at-most-once';
  /** `undefined`: none. */
  readonly limits: TopicLimits | undefined;
  readonly attempts: number;
  readonly backoff: ActiveBackoff;
  readonly timeout: number | undefined;
  readonly expireAfter: number | undefined;
  readonly serializer: PayloadSerializer | undefined;
  readonly deadLetter: RetentionLimits;
  /** `undefined`: nothing is kept of messages that have ended. */
  readonly finished: RetentionLimits | undefined;
  /** Names of the options given for this topic itself. Any other counts only where the topic has nothing else. */
  readonly said: ReadonlySet<string>;
}

export const DEFAULT_PARTITIONS = 8;

export const DEFAULT_ATTEMPTS = 5;
