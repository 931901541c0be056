import type { Reply } from '../driver.interface.js';

/**
 * Result of a call to cancel a message. `'in-flight'`: its handler runs and its signal aborts, and no retry follows.
 *
 * @publicApi
 */
export type CancelResult =
  /** The message was waiting and is gone. */
  | 'cancelled'
  /** A handler is running. Its `message.signal` aborts and no retry follows, but it may still finish its work. */
  | 'in-flight'
  /** There is no such message, or it is a dead letter. */
  | 'not-found';

/** Result of cancelling some of the messages that carry a tag. */
export interface TagCancelResult {
  readonly cancelled: number;
  /** Number of messages that are marked, since they are in flight. */
  readonly inFlight: number;
  /** Stored id behind which to go on; `undefined` if these were the last. */
  readonly next: string | undefined;
}

/**
 * Result of a call to move a message to another time. `'dead'`: it is a dead letter, which somebody has to requeue
 * before it comes again.
 * @see DelayQueueAdmin.requeue
 *
 * @publicApi
 */
export type RescheduleResult =
  /** The message was waiting and is now due at the new time. */
  | 'moved'
  /** Nothing changed: a handler is running. */
  | 'in-flight'
  /** Nothing changed: it is a dead letter, which `requeue()` schedules again. */
  | 'dead'
  /** Nothing changed: there is no such message. */
  | 'not-found';

/** A waiting message as a caller has seen it: whatever has its name by now, only this one is meant. */
export interface SeenMessage {
  readonly envelope: string;
  /** Its due time, epoch milliseconds. */
  readonly at: number;
}

export interface EnvelopeEdit {
  readonly storedId: string;
  /** Envelope to replace; if another one is stored by now, nothing changes. */
  readonly expected: string;
  readonly envelope: string;
}

/** `changed`: the message has another envelope than expected by now, or does not wait any more. */
export type EnvelopeEditResult = 'edited' | 'changed';

export interface ClearResult {
  /** Number of messages that were removed. */
  readonly removed: number;
  /** Whether there may be more. */
  readonly more: boolean;
}

const CANCEL_RESULT = ['not-found', 'cancelled', 'in-flight'] as const;

const EDIT_RESULT = ['changed', 'edited'] as const;

const RESCHEDULE_RESULT = ['not-found', 'moved', 'in-flight', 'dead'] as const;

export function cancelResult([result]: Reply): CancelResult {
  return CANCEL_RESULT[result as 0 | 1 | 2];
}

export function tagCancelResult([answer]: Reply): TagCancelResult {
  const [, cancelled, inFlight, more, last] = /^(\d+) (\d+) (\d) ([^]*)$/.exec(String(answer)) ?? [];
  return { cancelled: Number(cancelled), inFlight: Number(inFlight), next: more === '1' ? last : undefined };
}

export function rescheduleResult([result]: Reply): RescheduleResult {
  return RESCHEDULE_RESULT[result as 0 | 1 | 2 | 3];
}

export function editResult([result]: Reply): EnvelopeEditResult {
  return EDIT_RESULT[result as 0 | 1];
}
