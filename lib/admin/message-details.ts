import type { Partition, StoredMessage } from '../broker/broker.interface.js';
import { toDate } from '../time/date.js';
import type { FailedAttempt } from '../messages/failed-attempt.js';
import type { Failure } from '../messages/failure.js';
import { readablePart } from '../messages/readable-part.js';
import type { PayloadSerializer } from '../messages/serializer.js';
import { fromStoredId } from '../messages/stored-id.js';

/**
 * A message as it is stored.
 *
 * @publicApi
 */
export interface MessageDetails {
  readonly id: string;
  readonly key: string;
  readonly topic: string;
  readonly partition: number;
  readonly state: 'scheduled' | 'in-flight' | 'dead';
  /** Scheduled: when it is due. In flight: when its lease ends. Dead: when it died. */
  readonly at: Date;
  /** `undefined` if what is stored cannot be decoded, or this process lacks its serializer; {@link raw} has it. */
  readonly payload: unknown;
  readonly headers: Readonly<Record<string, string>>;
  /** Deliveries so far. */
  readonly deliveries: number;
  /** Attempts spent so far. */
  readonly attempts: number;
  /** Why it is dead, or why its last attempt failed. */
  readonly failure: Failure | undefined;
  /** The latest attempts that failed, the last one first; at most 10. An attempt that crashed has no entry. */
  readonly history: readonly FailedAttempt[];
  /**
   * The id of the message of the same key that has to be done before this one, in an ordered topic. Only `get()` says it; it is
   * `undefined` in lists, and if nothing is in the way.
   */
  readonly blockedBy: string | undefined;
  /** The stored envelope. */
  readonly raw: string;
}

export function toDetails(
  { topic, index }: Partition,
  stored: StoredMessage,
  serializer: PayloadSerializer | undefined,
): MessageDetails {
  const { storedId, envelope, state, at, deliveries, attempts, failure, history, blockedBy } = stored;
  const { payload, headers } = readablePart(topic, serializer, envelope);
  const common = {
    topic,
    partition: index,
    state,
    at: toDate(at),
    deliveries,
    attempts,
    failure,
    history,
    blockedBy: blockedBy === undefined ? undefined : fromStoredId(blockedBy).id,
    raw: envelope,
  };
  return { ...fromStoredId(storedId), ...common, payload, headers };
}
