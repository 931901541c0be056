import type { ResolvedBackoff } from '../messages/backoff.js';
import type { Failure } from '../messages/failure.js';

/**
 * What a message was published with. Times in milliseconds; `undefined`: left to the handler, or to the topic.
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
  readonly id: string;
  readonly key: string;
  readonly topic: string;
  readonly partition: number;
  /** As it will be delivered: what JSON, or the topic's serializer, makes of it. `undefined` if the serializer cannot read it. */
  readonly payload: T;
  readonly headers: Readonly<Record<string, string>>;
  readonly publishedAt: Date;
  readonly dueAt: Date;
  readonly settings: MessageSettings;
}

/**
 * A message that was published.
 *
 * @publicApi
 */
export interface RecordedMessage<T = unknown> extends HarnessMessage<T> {
  /** From {@link publishedAt} to {@link dueAt}, in milliseconds; 0 where it was due at once. */
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
