import type { FailedAttempt } from './failed-attempt.js';
import type { Failure } from './failure.js';

/**
 * A message that has become a dead letter, as `@OnDeadLetter` hooks get it.
 *
 * @publicApi
 */
export interface DeadLetter<T = unknown> {
  readonly id: string;
  readonly key: string;
  readonly topic: string;
  readonly partition: number;
  /** Not checked by a schema. `undefined` if it cannot be decoded or the serializer cannot read it; {@link raw} has it then. */
  readonly payload: T;
  readonly headers: Readonly<Record<string, string>>;
  /** Why it died. */
  readonly failure: Failure;
  /** Attempts spent. */
  readonly attempts: number;
  /** The latest attempts that failed, the last one first; at most 10. */
  readonly history: readonly FailedAttempt[];
  readonly diedAt: Date;
  /** The stored envelope. */
  readonly raw: string;
}
