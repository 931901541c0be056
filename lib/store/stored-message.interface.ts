import type { Limits } from './limits.interface.js';
import type { FinishedOutcome } from '../errors/publishing.errors.js';
import type { FailedAttempt } from '../messages/failed-attempt.js';
import type { Failure } from '../messages/failure.js';
import type { Owner } from './owner.js';

export interface StoredMessage {
  readonly storedId: string;
  readonly state: 'scheduled' | 'in-flight' | 'dead' | 'finished';
  readonly envelope: string;
  /**
   * Scheduled: due time. In flight: end of the lease. Dead: time of death. Finished: when it ended. Epoch milliseconds; any number if
   * another program wrote it.
   */
  readonly at: number;
  /** In flight: when it was due, so its handler has not begun before; left out if that is not known. Epoch milliseconds. */
  readonly dueAt?: number;
  readonly deliveries: number;
  readonly attempts: number;
  readonly failure: Failure | undefined;
  /** The latest attempts that failed, the last one first; at most 10. */
  readonly history: readonly FailedAttempt[];
  /** In an ordered topic, the stored id of the message of its key that has to be done first. Only a look at one message tells. */
  readonly blockedBy?: string;
  /** Of a finished message. */
  readonly ending?: Ending;
}

/** How a message has ended. */
export interface Ending {
  readonly outcome: FinishedOutcome;
  /** When it was due last, epoch milliseconds. */
  readonly dueAt: number | undefined;
  /** How long the last handler call ran, in milliseconds; `undefined` if that is not known, or it was never called. */
  readonly duration: number | undefined;
  /** Names the process that has handled it; `undefined` if none has, or that is not known. */
  readonly process: string | undefined;
}

/** A message with all that decides about when it is delivered. */
export interface MessageLook extends Pick<
  StoredMessage,
  'at' | 'dueAt' | 'deliveries' | 'attempts' | 'failure' | 'blockedBy'
> {
  /** What has ended is not looked at. */
  readonly state: Exclude<StoredMessage['state'], 'finished'>;
  /** The broker's clock when it looked, in whole milliseconds. */
  readonly now: number;
  /** Epoch milliseconds; `undefined` if that cannot be read. */
  readonly publishedAt: number | undefined;
  /** Deliveries in a row that ended with their lease, the current one not included. */
  readonly crashes: number;
  /** What happened to it while it was in flight, and takes effect when its delivery ends. */
  readonly mark: 'cancelled' | 'replaced' | undefined;
  /** How many are claimed before it, once it is due; `undefined` if it does not wait to be claimed. */
  readonly before: number | undefined;
  /** Whether its partition is paused. */
  readonly paused: boolean;
  /** Until when nothing of its partition begins, epoch milliseconds; `undefined` if that is not so. */
  readonly heldUntil: number | undefined;
  /** The limit of its key that keeps it waiting though it is due: how many begin, or how many are in flight. */
  readonly keyLimit: keyof Limits | undefined;
  /** What is stored of the owner of its partition; `undefined` if nothing is. */
  readonly owner: Owner | undefined;
  /** Of its current delivery; {@link NO_TOKEN} if it is not in flight. */
  readonly token: string;
}

// ── lists ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** `due`: the scheduled messages whose time has come. */
export type PeekedState = StoredMessage['state'] | 'due';

/** A place in the order of a state; its message may be gone. */
export interface Position {
  /** As {@link StoredMessage.at}. */
  readonly at: number;
  readonly storedId: string;
}

export interface PeekRequest {
  readonly state: PeekedState;
  /** Of those that wait, only the messages that wait behind others of their key, or for its limits; else only the others. */
  readonly blocked?: boolean;
  /**
   * Only messages that carry this tag, in order of the bytes of their stored ids, whether or not they are blocked. A page may be empty
   * though more follow; finished messages are not listed by tag.
   */
  readonly tag?: string | undefined;
  /** The page begins behind this place. */
  readonly after?: Position | undefined;
  /** Most messages wanted, 1 to `MAX_BATCH`. */
  readonly limit: number;
  /** Stops early once envelopes and failures add up to this, at most 1 MiB; one message comes in any case. */
  readonly maxBytes: number;
}

export interface PeekedMessages {
  /** In order of {@link StoredMessage.at}, equal ones in order of the bytes of their stored ids. */
  readonly messages: readonly StoredMessage[];
  /** Where the next page begins; `undefined` if this was the last. */
  readonly next: Position | undefined;
}

// ── dead letters ────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * One death of a message. A message that was requeued and died again has another one, so that what was decided about the
 * first death does not happen to the second.
 */
export interface Death {
  readonly storedId: string;
  /** Epoch milliseconds. */
  readonly diedAt: number;
}

export interface DeadLetterQuery {
  /** The page begins behind this dead letter, which may be gone. */
  readonly after?: Death | undefined;
  /** Only those that died at this time or later, epoch milliseconds. */
  readonly since?: number | undefined;
  /** Only those that died before this time, epoch milliseconds. @defaultValue all that have died by now */
  readonly until?: number | undefined;
  /** Most of them, 1 to `MAX_BATCH`; fewer come if their failures are long. */
  readonly limit: number;
  /** Whether to bring their failures along. */
  readonly withFailures: boolean;
}

export interface ListedDeadLetter extends Death {
  /** `undefined` if none is stored, or none was asked for. */
  readonly failure: Failure | undefined;
}

export interface DeadLetterPage {
  /** In order of death, equal ones in order of their stored ids. */
  readonly letters: readonly ListedDeadLetter[];
  /** Where the next page begins; `undefined` if this was the last. */
  readonly next: Death | undefined;
  /** The broker's clock when it looked, in whole milliseconds. */
  readonly now: number;
}

/** A dead letter that is to be scheduled again. */
export interface Requeue extends Death {
  /** Takes the place of the stored one. */
  readonly envelope?: string | undefined;
}

/** For how long, and how many, dead letters or finished messages of a partition are kept. */
export interface RetentionLimits {
  /** Milliseconds. @defaultValue no limit */
  readonly maxAge?: number | undefined;
  /** @defaultValue no limit */
  readonly maxCount?: number | undefined;
}

// ── counts ──────────────────────────────────────────────────────────────────────────────────────────────────────────

export const COUNTERS = [
  'published',
  'delivered',
  'acked',
  'retried',
  'died',
  'cancelled',
  'expired',
  'stale',
  'repaired',
] as const;
export type PartitionCounters = Readonly<Record<(typeof COUNTERS)[number], number>>;

export interface PartitionStats {
  readonly scheduled: number;
  /** How many of the scheduled ones are due, and not blocked. */
  readonly due: number;
  /** How many of the scheduled ones wait behind others of their key, or for its limits. */
  readonly blocked: number;
  /** How many of the blocked ones are due. */
  readonly blockedDue: number;
  readonly inFlight: number;
  readonly dead: number;
  /** Those that are kept though they have ended. */
  readonly finished: number;
  /** Those whose last attempt failed, and that are tried again: they wait, or are in flight. */
  readonly retrying: number;
  readonly nextDueAt: number | undefined;
  /** The earliest due time of the blocked ones that are due; `undefined` if none is. */
  readonly oldestBlockedDueAt: number | undefined;
  /** The session that is stored as its owner, whether or not it has ended; `undefined` if the partition was released. */
  readonly owner: string | undefined;
  readonly paused: boolean;
  /** Nothing is handed out before, epoch milliseconds; `undefined` if it is. */
  readonly heldUntil: number | undefined;
  /** Since the partition was created. */
  readonly counters: PartitionCounters;
}

/** Most times of {@link BrokerOperations.countDue}. */
export const MAX_DUE_TIMES = 201;

/** What waits in a partition, by when it is due. */
export interface DueCounts {
  readonly scheduled: number;
  /** How many of them are due; also those that others of their key keep waiting. */
  readonly due: number;
  /** For each time that was asked for, how many are due before it. */
  readonly before: readonly number[];
}
