import type { StoredMessage } from '../store/messages/stored-message.js';
import type { CallId, Partition } from '../store/partition.js';
import type { ResolvedBackoff } from '../messages/backoff.js';
import { decodeEnvelope, readablePayload } from '../messages/envelope.js';
import type { Failure } from '../messages/failure.js';
import type { PayloadSerializer } from '../messages/serializer.js';
import { fromStoredId } from '../messages/stored-id.js';

/** A message as it was published. */
export interface Published {
  readonly partition: Partition;
  readonly storedId: string;
  readonly envelope: string;
  /** Epoch milliseconds. */
  readonly dueAt: number;
}

/** Keeps what was published, by topic. */
export class PublishedMessages {
  readonly #byTopic = new Map<string, Published[]>();
  readonly #latestCalls = new Map<string, number>();

  of(topic: string): readonly Published[] {
    return this.#byTopic.get(topic) ?? [];
  }

  clear(): void {
    this.#byTopic.clear();
  }

  record(partition: Partition, call: CallId, messages: readonly Omit<Published, 'partition'>[]): void {
    if (this.#isRepeat(partition, call)) return;
    const list = this.#byTopic.get(partition.topic) ?? [];
    this.#byTopic.set(partition.topic, list);
    for (const { storedId, envelope, dueAt } of messages) list.push({ partition, storedId, envelope, dueAt });
  }

  /** A call is made again if its reply was lost. */
  #isRepeat({ topic, index }: Partition, { caller, sequence }: CallId): boolean {
    const name = `${topic}:${index}:${caller}`;
    const isRepeat = this.#latestCalls.get(name) === sequence;
    this.#latestCalls.set(name, sequence);
    return isRepeat;
  }
}

/**
 * What a message was published with. Times in milliseconds. `undefined`: the handler's, or else the topic's.
 *
 * @publicApi
 */
export interface MessageSettings {
  readonly attempts: number | undefined;
  readonly backoff: ResolvedBackoff | undefined;
  readonly timeout: number | undefined;
  readonly expireAfter: number | undefined;
}

/**
 * A message as {@link DelayQueueHarness} shows it.
 *
 * @publicApi
 */
export interface HarnessMessage<T = unknown> {
  /** Names the message. */
  readonly id: string;
  /** Its key; the id, if it was published without one. */
  readonly key: string;
  /** Where it was published. */
  readonly topic: string;
  /** Where it is in the topic. */
  readonly partition: number;
  /** As it will be delivered, read from JSON by the topic's serializer, if any. `undefined` if the serializer cannot read it. */
  readonly payload: T;
  /** As they were published. */
  readonly headers: Readonly<Record<string, string>>;
  /** When it was published, on the clock of the harness. */
  readonly publishedAt: Date;
  /** When it is due, on the clock of the harness. */
  readonly dueAt: Date;
  /** The options of its delivery that it was published with: `attempts`, `backoff`, `timeout` and `expireAfter`. */
  readonly settings: MessageSettings;
}

/**
 * A message that was published.
 *
 * @publicApi
 */
export interface RecordedMessage<T = unknown> extends HarnessMessage<T> {
  /** From {@link publishedAt} to {@link dueAt}, in milliseconds; 0 if it was due at once. */
  readonly delay: number;
}

/**
 * A message that waits. Its {@link dueAt} is when it comes next.
 *
 * @publicApi
 */
export interface WaitingMessage<T = unknown> extends HarnessMessage<T> {
  /** Attempts spent so far. */
  readonly attempts: number;
  /** Why its last attempt failed; `undefined` before the first failure. */
  readonly failure: Failure | undefined;
}

/**
 * A dead letter as {@link DelayQueueHarness} shows it.
 *
 * @publicApi
 */
export interface HarnessDeadLetter<T = unknown> extends Omit<HarnessMessage<T>, 'dueAt'> {
  readonly diedAt: Date;
  /** Attempts spent. */
  readonly attempts: number;
  /** Why it died. */
  readonly failure: Failure;
}

/**
 * The former name of {@link HarnessDeadLetter}, kept for compatibility. `DeadLetter` of `nestjs-delay-queue` is another type: a
 * dead letter as `@OnDeadLetter()` hooks are given it.
 *
 * @publicApi
 */
export type DeadLetter<T = unknown> = HarnessDeadLetter<T>;

/** A message and where it is stored. */
export interface Placed {
  readonly partition: Partition;
  readonly stored: StoredMessage;
}

export function toRecorded<T>(
  { partition, storedId, envelope, dueAt }: Published,
  serializer: PayloadSerializer | undefined,
): RecordedMessage<T> {
  const message = describeMessage<T>(partition, { storedId, envelope }, serializer);
  const delay = Math.max(0, dueAt - message.publishedAt.getTime());
  return { ...message, dueAt: new Date(dueAt), delay };
}

export function toWaiting<T>(
  { partition, stored }: Placed,
  serializer: PayloadSerializer | undefined,
): WaitingMessage<T> {
  const { at, attempts, failure } = stored;
  return { ...describeMessage<T>(partition, stored, serializer), dueAt: new Date(at), attempts, failure };
}

export function toDeadLetter<T>(
  { partition, stored }: Placed,
  serializer: PayloadSerializer | undefined,
): HarnessDeadLetter<T> {
  const { at, attempts, failure } = stored;
  const message = describeMessage<T>(partition, stored, serializer);
  return { ...message, diedAt: new Date(at), attempts, failure: failure as Failure };
}

function describeMessage<T>(
  { topic, index }: Partition,
  { storedId, envelope }: Pick<StoredMessage, 'storedId' | 'envelope'>,
  serializer: PayloadSerializer | undefined,
): Omit<HarnessMessage<T>, 'dueAt'> {
  const decoded = decodeEnvelope(envelope);
  const { headers, publishedAt, attempts, backoff, timeout, expireAfter } = decoded;
  return {
    ...fromStoredId(storedId),
    topic,
    partition: index,
    payload: readablePayload(topic, serializer, decoded) as T,
    headers,
    publishedAt: new Date(publishedAt),
    settings: { attempts, backoff, timeout, expireAfter },
  };
}
