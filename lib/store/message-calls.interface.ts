import type { FinishedOutcome } from '../errors/publishing.errors.js';
import type { FailedAttempt } from '../messages/failed-attempt.js';
import type { Failure } from '../messages/failure.js';
import type { RateLimitScope } from '../errors/handling.errors.js';
import type { ReplicaRequirement } from '../messages/replicas.js';
import type { SettleStatus } from '../messages/settle-status.js';
import type { BeginWindow, Begins, Limits } from './limits.interface.js';
import type { Owner } from './owner.js';
import type { RetentionLimits } from './stored-message.interface.js';

/** One partition of a topic. */
export interface Partition {
  readonly topic: string;
  readonly index: number;
}

/** What a dead letter does to its key in an ordered topic: the messages behind it go on, or wait until it is requeued or removed. */
export type TopicOrder = 'continue' | 'block';

/** Most messages a single call takes; keeps every script short and every argument list under 1,000. */
export const MAX_BATCH = 200;

/**
 * Names a call, so that its repeat is recognized and answered, not done again. A caller numbers its calls to a partition
 * and makes one after another.
 */
export interface CallId {
  readonly caller: string;
  readonly sequence: number;
}

// ── publishing and changing ─────────────────────────────────────────────────────────────────────────────────────────

/** Milliseconds from now on the broker's clock, or epoch milliseconds. */
export type DueTime = { readonly after: number } | { readonly at: number };

export interface NewMessage {
  readonly storedId: string;
  readonly envelope: string;
  readonly due: DueTime;
  /** `'impossible'`: the id was generated for this message, so the broker does not look for another message that has it. */
  readonly onDuplicate: 'reject' | 'ignore' | 'replace' | 'earliest' | 'impossible';
  /**
   * However often the message is replaced until it is delivered, it is due at most so long after its first publish that has a
   * longest wait, in milliseconds.
   */
  readonly maxWait?: number | undefined;
  /** What it can be found by, each once. @defaultValue nothing */
  readonly tags?: readonly string[] | undefined;
}

/** What all messages of a call have in common. */
export interface PublishTerms {
  /** Answers only when so many replicas have confirmed the call, or its time is over; `confirmedBy` tells. */
  readonly replicas?: ReplicaRequirement | undefined;
  /** Of the topic. */
  readonly order?: TopicOrder | undefined;
}

export interface PublishResult {
  /** `ignored`: the message that was there stays; with `'earliest'` its due time may have changed. */
  readonly status: 'created' | 'rejected' | 'ignored' | 'replaced';
  /** Due time of the message that is stored now, epoch milliseconds. */
  readonly dueAt: number;
  /** If it was rejected since the message with this id is finished, what became of that one. */
  readonly finishedAs?: FinishedOutcome;
  /** Set in the first result of a call if its partition had no counters yet: it is new, or Redis has lost it. */
  readonly isNewPartition?: true;
  /** How many replicas had confirmed the call when it was answered; `undefined` if none were asked for. */
  readonly confirmedBy?: number;
}

/**
 * What became of a call to cancel a message. `in-flight`: its handler runs; its signal aborts, and no retry follows.
 *
 * @publicApi
 */
export type CancelResult = 'cancelled' | 'in-flight' | 'not-found';
/** What became of some of the messages that carry a tag. */
export interface TagCancelResult {
  readonly cancelled: number;
  /** How many are marked, since they are in flight. */
  readonly inFlight: number;
  /** The stored id behind which to go on; `undefined` if these were the last. */
  readonly next: string | undefined;
}

/**
 * What became of a call to move a message to another time. `dead`: it is a dead letter, which `admin.requeue()` schedules
 * again.
 *
 * @publicApi
 */
export type RescheduleResult = 'moved' | 'in-flight' | 'dead' | 'not-found';

/** A message as it waited when somebody looked: whatever is under its name by now, only this one is meant. */
export interface SeenMessage {
  readonly envelope: string;
  /** When it was due, epoch milliseconds. */
  readonly at: number;
}

export interface EnvelopeEdit {
  readonly storedId: string;
  /** The envelope to replace; if another one is stored by now, nothing changes. */
  readonly expected: string;
  readonly envelope: string;
}

/** `changed`: the message has another envelope than expected by now, or does not wait any more. */
export type EnvelopeEditResult = 'edited' | 'changed';

export interface ClearResult {
  /** How many messages were removed. */
  readonly removed: number;
  /** Whether there may be more. */
  readonly more: boolean;
}

// ── delivering ──────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Proves that a settle belongs to the current delivery of a message: the token is the owner's epoch and the number of the
 * delivery. The broker only compares it, so nothing that it forgets makes a receipt fit a later delivery, or a later message
 * with the same id.
 */
export interface Receipt {
  readonly storedId: string;
  readonly token: string;
}

/** @param number counts the deliveries that an owner makes in its epoch, from 1 */
export function tokenOf(epoch: string, number: number): string {
  return `${epoch}.${number}`;
}

/** In place of a token: of no delivery. */
export const NO_TOKEN = '0';

export interface ClaimRequest {
  /** Who claims; exactly this has to be stored as the owner of the partition. */
  readonly owner: Owner;
  /**
   * Counts the claims of the owner, from 1. With the same number again it is a repeat, and is answered with the deliveries that
   * the first call has made, however many it asks for. A call with a number below the latest one changes nothing.
   */
  readonly sequence: number;
  /** How many deliveries the owner has made so far; the next ones are numbered from there. */
  readonly delivered: number;
  /** Most messages wanted, 0 to {@link MAX_BATCH}. With 0 it tells what is next. */
  readonly max: number;
  /**
   * For how long the deliveries belong to the member, in milliseconds. 0: at most once; what is handed out is gone, and there is nothing to be
   * settled.
   */
  readonly lease: number;
  /**
   * Room for suspects: messages whose deliveries have ended with their lease more than once. One that may run in a group takes
   * 1, and one that has to run alone takes all of it. @defaultValue {@link SUSPECT_ROOM}: as if no suspect ran
   */
  readonly room?: number;
  /** What the partition keeps of finished messages from now on. @defaultValue nothing */
  readonly finished?: RetentionLimits | undefined;
  /** Of the topic. */
  readonly order?: TopicOrder | undefined;
  /** What every key may have. */
  readonly keyLimits?: Limits | undefined;
  /** When deliveries would begin that the rate of their key permits. @defaultValue {@link AT_ONCE} */
  readonly begin?: BeginWindow;
  /** Whether to count what is left that is due. */
  readonly counts?: boolean;
}

/** Most suspects that run at once in a process. */
export const SUSPECT_ROOM = 16;

export interface ClaimedMessage extends Receipt {
  readonly envelope: string;
  /** Deliveries so far, this one included. */
  readonly delivery: number;
  /** Attempts spent so far, this one included. */
  readonly attempt: number;
  /** Epoch milliseconds. */
  readonly dueAt: number;
  /** How much of the room for suspects it takes; 0 for nearly all messages. */
  readonly weight: number;
}

export type ClaimResult =
  | {
      /** `held`: nothing of the topic begins before {@link nextAt}. */
      readonly status: 'claimed' | 'paused' | 'held';
      readonly messages: ClaimedMessage[];
      /** How many deliveries the owner has made now. */
      readonly delivered: number;
      /** When there is something to claim again: next due time or end of a lease, or more of a key may begin; `undefined` if nothing waits. */
      readonly nextAt: number | undefined;
      /** How many entries had no envelope, and were removed. */
      readonly repaired: number;
      /** Whether suspects wait that there was no room for. */
      readonly heldBack: boolean;
      /** Whether finished messages are kept, or some are left that are to be removed. */
      readonly keepsFinished: boolean;
      /** Under what time the deliveries stand in the logs of their keys, to {@link Outcome give them back}; `undefined`: in none. */
      readonly grantedAt?: number | undefined;
      /** When they may begin, if the rates of their keys have granted them. */
      readonly begins?: Begins | undefined;
      /** How many messages are still due, and may be claimed; if that was asked for. */
      readonly due?: number | undefined;
    }
  /** What is stored of the owner instead; `undefined` if nothing is. */
  | { readonly status: 'not-owner'; readonly owner: Owner | undefined };

/** Of a delivery whose handler was not called. */
interface NotCalled {
  /** As the claim has answered it: so the delivery does not count against the rate of its key. */
  readonly grantedAt?: number | undefined;
}

interface Failed {
  readonly failure: Failure;
  /** What is added to the message's history; nothing if the handler was not called. */
  readonly failedAttempt?: FailedAttempt | undefined;
}

export type Outcome =
  | { readonly kind: 'ack' }
  /** The attempt failed; deliver again after `delay` milliseconds. */
  | ({ readonly kind: 'retry'; readonly delay: number } & Failed)
  /** `spent: false` if the handler was not called: then the delivery's attempt is given back. */
  | ({ readonly kind: 'dead'; readonly spent?: false } & Failed & NotCalled)
  /** Back at once, as if it had not been delivered. */
  | ({ readonly kind: 'release' } & NotCalled)
  /** Back after `delay` milliseconds, without spending the attempt. `scope: 'key'`: nothing of its key begins before then. */
  | { readonly kind: 'put-off'; readonly delay: number; readonly scope?: RateLimitScope };

export interface Settlement extends Receipt {
  readonly outcome: Outcome;
  /** How long the handler ran, in milliseconds; only kept of finished messages. */
  readonly duration?: number;
}

/** `later`: nothing was done about it, since those before it are enough for one call; it is to be sent again, by another call. */
export type SettleAnswer = SettleStatus | 'later';

/** Whether the broker keeps more once it has stored an outcome, so that it refuses it while it is full. */
export function addsMemory({ outcome: { kind } }: Pick<Settlement, 'outcome'>): boolean {
  return kind !== 'ack' && kind !== 'release';
}

export type ExtendStatus = 'extended' | 'lost' | 'cancelled';
