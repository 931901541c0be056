import type { StoredMessage } from '../store/messages/stored-message.js';
import type { CallId, Partition } from '../store/partition.js';
import type { ResolvedBackoff } from '../messages/backoff.js';
import { decodeEnvelope, readablePayload } from '../messages/envelope.js';
import type { Failure } from '../messages/failure.js';
import type { PayloadSerializer } from '../messages/serializer.js';
import { fromStoredId } from '../messages/stored-id.js';

/** A message as published. */
export interface Published {
  readonly partition: Partition;
  readonly storedId: string;
  readonly envelope: string;
  /** Due time in epoch milliseconds. */
  readonly dueAt: number;
}

/** Keeps published messages by topic. */
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

  /** Whether a call is a repeat: it is made again if its reply was lost. */
  #isRepeat({ topic, index }: Partition, { caller, sequence }: CallId): boolean {
    const name = `${topic}:${index}:${caller}`;
    const isRepeat = this.#latestCalls.get(name) === sequence;
    this.#latestCalls.set(name, sequence);
    return isRepeat;
  }
}

/**
 * Settings that a message was published with. Times in milliseconds. `undefined` if the handler's apply, or else the topic's.
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
  /** Id of the message. */
  readonly id: string;
  /** Its key; the id if it was published without one. */
  readonly key: string;
  /** Topic that it was published to. */
  readonly topic: string;
  /** Index of its partition in the topic. */
  readonly partition: number;
  /** Payload as it will be delivered, read from JSON by the topic's serializer, if any. `undefined` if the serializer cannot read it. */
  readonly payload: T;
  /** Headers as they were published. */
  readonly headers: Readonly<Record<string, string>>;
  /** Time when it was published, on the clock of the harness. */
  readonly publishedAt: Date;
  /** Time when it is due, on the clock of the harness. */
  readonly dueAt: Date;
  /** Delivery options that it was published with: `attempts`, `backoff`, `timeout` and `expireAfter`. */
  readonly settings: MessageSettings;
}

/**
 * A published message.
 *
 * @publicApi
 */
export interface RecordedMessage<T = unknown> extends HarnessMessage<T> {
  /** Time from {@link publishedAt} to {@link dueAt}, in milliseconds; 0 if it was due at once. */
  readonly delay: number;
}

/**
 * A waiting message. Its {@link dueAt} is the time of its next delivery.
 *
 * @publicApi
 */
export interface WaitingMessage<T = unknown> extends HarnessMessage<T> {
  /** Number of attempts spent so far. */
  readonly attempts: number;
  /** Failure of its last attempt; `undefined` before the first failure. */
  readonly failure: Failure | undefined;
}

/**
 * A dead letter as {@link DelayQueueHarness} shows it.
 *
 * @publicApi
 */
export interface HarnessDeadLetter<T = unknown> extends Omit<HarnessMessage<T>, 'dueAt'> {
  readonly diedAt: Date;
  /** Number of attempts spent. */
  readonly attempts: number;
  /** Reason why it died. */
  readonly failure: Failure;
}

/**
 * Former name of {@link HarnessDeadLetter}, kept for compatibility. `DeadLetter` of `nestjs-delay-queue` is another type: a dead letter as
 * `@OnDeadLetter()` hooks get it.
 *
 * @publicApi
 */
export type DeadLetter<T = unknown> = HarnessDeadLetter<T>;

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
