import type { StoredMessage } from '../store/messages/stored-message.js';
import type { Partition } from '../store/partition.js';
import type { FinishedOutcome } from '../errors/publishing.errors.js';
import { toDate } from '../time/date.js';
import { type StoredBackoff, toStoredBackoff } from '../messages/backoff.js';
import type { FailedAttempt, Failure } from '../messages/failure.js';
import { readablePart } from '../messages/envelope.js';
import type { PayloadSerializer } from '../messages/serializer.js';
import { fromStoredId } from '../messages/stored-id.js';

/**
 * A message as it is stored.
 *
 * @publicApi
 */
export interface MessageDetails {
  /** Id of the message. */
  readonly id: string;
  /** Its key; the id, if it was published without one. */
  readonly key: string;
  /** Topic to which it was published. */
  readonly topic: string;
  /** Its partition in the topic. */
  readonly partition: number;
  /** Its state. `'finished'`: it has ended, and the topic's option `finished` keeps its outcome. */
  readonly state: 'scheduled' | 'in-flight' | 'dead' | 'finished';
  /**
   * Finished: its outcome.
   *
   * @see docs/guides/finished.md
   */
  readonly outcome: FinishedOutcome | undefined;
  /** Scheduled: when it is due. In flight: when its lease ends. Dead: when it died. Finished: when it ended. */
  readonly at: Date;
  /** When it was published, by its publisher's estimate of the Redis server's clock; `undefined` if the stored message cannot be decoded. */
  readonly publishedAt: Date | undefined;
  /** In flight or finished: when it was last due. Its handler did not begin earlier. `undefined` if that is unknown. */
  readonly dueAt: Date | undefined;
  /** Finished: duration of the last handler call, in milliseconds; `undefined` if it was never called, or that is unknown. */
  readonly duration: number | undefined;
  /** Finished: name of the process that handled it; `undefined` if none did, or that is unknown. */
  readonly process: string | undefined;
  /** The published payload; `undefined` if it cannot be decoded, or this process lacks its serializer: `raw` has it. */
  readonly payload: unknown;
  /** Headers as they were published. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Tags by which it can be found. Finished messages can no longer be found by their tags.
   *
   * @see docs/guides/tags.md
   */
  readonly tags: readonly string[];
  /** Deliveries so far. */
  readonly deliveries: number;
  /** Attempts spent so far. */
  readonly attempts: number;
  /** Most attempts, if it was published with the option; otherwise its handler or its topic decides. */
  readonly maxAttempts: number | undefined;
  /** Wait after a failed attempt, if it was published with the option; times are milliseconds. */
  readonly backoff: StoredBackoff | undefined;
  /** The longest run of its handler in milliseconds, if it was published with the option. */
  readonly timeout: number | undefined;
  /** How long after its due time it expires, in milliseconds, if it was published with the option. */
  readonly expireAfter: number | undefined;
  /** Why it is dead, or why its latest failed attempt failed. */
  readonly failure: Failure | undefined;
  /** The latest failed attempts, the last one first; at most 10. An attempt that crashed has no entry. */
  readonly history: readonly FailedAttempt[];
  /**
   * In an ordered topic, the id of the message of the same key that has to be done before this one; `undefined` if nothing is in the
   * way, and in lists.
   *
   * @see docs/guides/order.md
   */
  readonly blockedBy: string | undefined;
  /** The stored envelope. */
  readonly raw: string;
}

/** A message in a list, for a viewer who may not be allowed to see all of it. */
export type ListedMessage = Omit<MessageDetails, 'raw'> & Partial<Pick<MessageDetails, 'raw'>>;

/** Returns the part of a message that is listed. Matches and page ends depend on nothing else. */
export type View<T extends ListedMessage> = (message: MessageDetails) => T;

export function toDetails(
  { topic, index }: Partition,
  stored: StoredMessage,
  serializer: PayloadSerializer | undefined,
): MessageDetails {
  const { storedId, envelope, state, at, dueAt, deliveries, attempts, failure, history, blockedBy, ending } = stored;
  const { payload, headers, tags, publishedAt, options } = readablePart(topic, serializer, envelope);
  const common = {
    topic,
    partition: index,
    state,
    outcome: ending?.outcome,
    at: toDate(at),
    publishedAt: optionalDate(publishedAt),
    dueAt: optionalDate(ending?.dueAt ?? dueAt),
    duration: ending?.duration,
    process: ending?.process,
    deliveries,
    attempts,
    maxAttempts: options.attempts,
    backoff: options.backoff && toStoredBackoff(options.backoff),
    timeout: options.timeout,
    expireAfter: options.expireAfter,
    failure,
    history,
    blockedBy: blockedBy === undefined ? undefined : fromStoredId(blockedBy).id,
    raw: envelope,
  };
  return { ...fromStoredId(storedId), ...common, payload, headers, tags };
}

function optionalDate(time: number | undefined): Date | undefined {
  return time === undefined ? undefined : toDate(time);
}
