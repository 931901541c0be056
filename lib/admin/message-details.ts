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
  /** Names the message. */
  readonly id: string;
  /** Its key; the id, if it was published without one. */
  readonly key: string;
  /** Where it was published. */
  readonly topic: string;
  /** Where it is in the topic. */
  readonly partition: number;
  /** Where it is. `'finished'`: it has ended, and the topic's option `finished` keeps what became of it. */
  readonly state: 'scheduled' | 'in-flight' | 'dead' | 'finished';
  /**
   * Finished: what became of it.
   *
   * @see docs/guides/finished.md
   */
  readonly outcome: FinishedOutcome | undefined;
  /** Scheduled: when it is due. In flight: when its lease ends. Dead: when it died. Finished: when it ended. */
  readonly at: Date;
  /** When it was published, by its publisher's estimate of the Redis server's clock; `undefined` if what is stored cannot be decoded. */
  readonly publishedAt: Date | undefined;
  /** In flight or finished: when it was due last. Its handler has not begun before. `undefined` if that is not known. */
  readonly dueAt: Date | undefined;
  /** Finished: how long the last handler call ran, in milliseconds; `undefined` if it was never called, or that is not known. */
  readonly duration: number | undefined;
  /** Finished: names the process that has handled it; `undefined` if none has, or that is not known. */
  readonly process: string | undefined;
  /** What was published; `undefined` if what is stored cannot be decoded, or this process lacks its serializer: `raw` has it. */
  readonly payload: unknown;
  /** As they were published. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * What it can be found by. Finished messages are not found by their tags any more.
   *
   * @see docs/guides/tags.md
   */
  readonly tags: readonly string[];
  /** Deliveries so far. */
  readonly deliveries: number;
  /** Attempts spent so far. */
  readonly attempts: number;
  /** The attempts that it may have, if it was published with the option; otherwise its handler or its topic decides. */
  readonly maxAttempts: number | undefined;
  /** How long it waits after a failed attempt, if it was published with the option; times are milliseconds. */
  readonly backoff: StoredBackoff | undefined;
  /** The longest run of its handler in milliseconds, if it was published with the option. */
  readonly timeout: number | undefined;
  /** How long after its due time it expires, in milliseconds, if it was published with the option. */
  readonly expireAfter: number | undefined;
  /** Why it is dead, or why the latest attempt that failed did. */
  readonly failure: Failure | undefined;
  /** The latest attempts that failed, the last one first; at most 10. An attempt that crashed has no entry. */
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
