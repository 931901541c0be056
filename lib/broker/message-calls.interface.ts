import type { FailedAttempt } from '../messages/failed-attempt.js';
import type { Failure } from '../messages/failure.js';

/** One partition of a topic. */
export interface Partition {
  readonly topic: string;
  readonly index: number;
}

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
  readonly onDuplicate: 'reject' | 'ignore' | 'replace' | 'impossible';
}

export interface PublishResult {
  readonly status: 'created' | 'rejected' | 'ignored' | 'replaced';
  /** Due time of the message that is stored now, epoch milliseconds. */
  readonly dueAt: number;
}

/**
 * What became of a call to cancel a message. `in-flight`: its handler runs; its signal aborts, and no retry follows.
 *
 * @publicApi
 */
export type CancelResult = 'cancelled' | 'in-flight' | 'not-found';
export type RescheduleResult = 'rescheduled' | 'in-flight' | 'not-found';

export interface EnvelopeEdit {
  readonly storedId: string;
  /** The envelope to replace; if another one is stored by now, nothing changes. */
  readonly expected: string;
  readonly envelope: string;
}

/** `changed`: the message waits, but has another envelope than expected. */
export type EditResult = 'edited' | 'changed' | 'not-waiting';

export interface ClearResult {
  /** How many messages were removed. */
  readonly removed: number;
  /** Whether there may be more. */
  readonly more: boolean;
}

// ── delivering ──────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Proves that a settle belongs to the current delivery of a message. Tokens are drawn from one growing number a
 * partition, so a receipt fits neither a later delivery nor a later message with the same id.
 */
export interface Receipt {
  readonly storedId: string;
  readonly token: number;
}

export interface ClaimRequest {
  /** The member that claims; it has to own the partition. */
  readonly member: string;
  /** Most messages wanted, 1 to {@link MAX_BATCH}. */
  readonly max: number;
  /** For how long the deliveries belong to the member, in milliseconds. */
  readonly lease: number;
  /**
   * The partition's highest token this owner knows. If deliveries with higher tokens exist, the reply that announced
   * them was lost, and they are returned instead of new ones: so a claim may be repeated.
   */
  readonly knownToken: number;
}

export interface ClaimedMessage extends Receipt {
  readonly envelope: string;
  /** Deliveries so far, this one included. */
  readonly delivery: number;
  /** Attempts spent so far, this one included. */
  readonly attempt: number;
  /** Epoch milliseconds. */
  readonly dueAt: number;
}

export type ClaimResult =
  | {
      readonly status: 'claimed' | 'paused';
      readonly messages: ClaimedMessage[];
      /** The partition's highest token now. */
      readonly token: number;
      /** When there is something to claim again: next due time or next end of a lease; `undefined` if nothing waits. */
      readonly nextAt: number | undefined;
      /** How many entries had no envelope, and were removed. */
      readonly repaired: number;
    }
  | { readonly status: 'not-owner' };

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
  | ({ readonly kind: 'dead'; readonly spent?: false } & Failed)
  /** Back at once, as if it had not been delivered. */
  | { readonly kind: 'release' }
  /** Back after `delay` milliseconds, without spending the attempt. */
  | { readonly kind: 'put-off'; readonly delay: number };

export interface Settlement extends Receipt {
  readonly outcome: Outcome;
}

export type ExtendStatus = 'extended' | 'lost' | 'cancelled';
