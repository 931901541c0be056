import type { FailedAttempt } from '../messages/failed-attempt.js';
import type { Failure } from '../messages/failure.js';
import type { SettleStatus } from '../messages/settle-status.js';
import type { BrokerLink } from './broker-link.interface.js';
import type { EventLog } from './event-log.interface.js';
import type { AdminStore } from './admin-store.interface.js';
import type { DeadLetterStore } from './dead-letter-store.interface.js';

/** One partition of a topic. */
export interface Partition {
  readonly topic: string;
  readonly index: number;
}

/** Most messages a single call takes; keeps every script short and every argument list under 1,000. */
export const MAX_BATCH = 200;

// ── publishing ──────────────────────────────────────────────────────────────────────────────────────────────────────

/** Milliseconds from now on the broker's clock, or epoch milliseconds. */
export type DueTime = { readonly after: number } | { readonly at: number };

export interface NewMessage {
  readonly storedId: string;
  readonly envelope: string;
  readonly due: DueTime;
  /** `'impossible'`: the id was drawn for this message, so that nothing can have it and nobody need look. */
  readonly onDuplicate: 'reject' | 'ignore' | 'replace' | 'impossible';
}

export interface PublishResult {
  readonly status: 'created' | 'rejected' | 'ignored' | 'replaced';
  /** Due time of the message that is stored now, epoch milliseconds. */
  readonly dueAt: number;
}

/**
 * Names a call, so that its repeat is recognized and answered, not done again. A caller numbers its calls to a partition
 * and makes one after another.
 */
export interface CallId {
  readonly caller: string;
  readonly sequence: number;
}

/**
 * What became of a call to cancel a message. `in-flight`: its handler runs; its signal aborts, and no retry follows.
 *
 * @publicApi
 */
export type CancelResult = 'cancelled' | 'in-flight' | 'not-found';
export type RescheduleResult = 'rescheduled' | 'in-flight' | 'not-found';

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
   * The partition's highest token this owner has heard of. Where deliveries with higher ones exist, the reply that
   * announced them was lost, and they are returned instead of new ones: a claim may be repeated.
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
      /** When there is something to claim again: next due time or next end of a lease; `undefined` where nothing waits. */
      readonly nextAt: number | undefined;
      /** Entries met without an envelope, and removed. */
      readonly repaired: number;
    }
  | { readonly status: 'not-owner' };

interface Failed {
  readonly failure: Failure;
  /** What is added to the message's history; nothing where the handler was not called. */
  readonly failedAttempt?: FailedAttempt | undefined;
}

export type Outcome =
  | { readonly kind: 'ack' }
  /** The attempt failed; deliver again after `delay` milliseconds. */
  | ({ readonly kind: 'retry'; readonly delay: number } & Failed)
  /** `spent: false` where the handler was not called: then the delivery's attempt is given back. */
  | ({ readonly kind: 'dead'; readonly spent?: false } & Failed)
  /** Back at once, as if it had not been delivered. */
  | { readonly kind: 'release' }
  /** Back after `delay` milliseconds, without spending the attempt. */
  | { readonly kind: 'put-off'; readonly delay: number };

export interface Settlement extends Receipt {
  readonly outcome: Outcome;
}

export type { SettleStatus };
export type ExtendStatus = 'extended' | 'lost' | 'cancelled';

// ── looking ─────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface StoredMessage {
  readonly storedId: string;
  readonly state: 'scheduled' | 'in-flight' | 'dead';
  readonly envelope: string;
  /**
   * Scheduled: due time. In flight: end of the lease. Dead: time of death. Epoch milliseconds; where another program wrote
   * it, any number.
   */
  readonly at: number;
  readonly deliveries: number;
  readonly attempts: number;
  readonly failure: Failure | undefined;
  /** The latest attempts that failed, the last one first; at most 10. */
  readonly history: readonly FailedAttempt[];
}

export interface PartitionStats {
  readonly scheduled: number;
  /** Of the scheduled ones, those whose time has come. */
  readonly due: number;
  readonly inFlight: number;
  readonly dead: number;
  readonly nextDueAt: number | undefined;
  readonly owner: string | undefined;
  readonly paused: boolean;
  /** Since the partition was created. */
  readonly counters: PartitionCounters;
}

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

// ── ownership ───────────────────────────────────────────────────────────────────────────────────────────────────────

export interface TopicConfig {
  readonly partitions: number;
  readonly protocol: number;
}

export interface Member {
  readonly id: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
  /** Partitions it says it holds. */
  readonly holdings: readonly number[];
}

export type AcquireResult =
  | { readonly acquired: true; readonly token: number }
  /** `retryAt`: when the holder's claim ends unless it renews it, epoch milliseconds. */
  | { readonly acquired: false; readonly retryAt: number };

export interface RenewResult {
  readonly owned: boolean;
  /** Earliest due time in the partition, epoch milliseconds. */
  readonly nextDueAt: number | undefined;
}

export type PartitionSignal =
  /** Something may be due earlier than was known, at this time (epoch milliseconds). */
  | { readonly kind: 'due'; readonly at: number }
  /** A message in flight was cancelled. */
  | ({ readonly kind: 'cancelled' } & Receipt);

/** Ends a subscription. */
export type Unsubscribe = () => Promise<void>;

// ── ports ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Messages and their deliveries. Every method takes a bounded amount of work and may be repeated without harm. */
export interface MessageStore {
  /** In the order of the messages, 1 to {@link MAX_BATCH}. */
  publish(partition: Partition, call: CallId, messages: readonly NewMessage[]): Promise<PublishResult[]>;
  cancel(partition: Partition, call: CallId, storedId: string): Promise<CancelResult>;
  /** Moves a message that waits to another due time; where it does not wait, nothing changes. */
  reschedule(partition: Partition, call: CallId, storedId: string, due: DueTime): Promise<RescheduleResult>;
  /** The stored ids of the messages that have this id and a key of their own, in order, at most {@link MAX_BATCH}. */
  locate(partition: Partition, id: string): Promise<string[]>;
  claim(partition: Partition, request: ClaimRequest): Promise<ClaimResult>;
  /** In the order of the settlements, 1 to {@link MAX_BATCH}. */
  settle(partition: Partition, call: CallId, settlements: readonly Settlement[]): Promise<SettleStatus[]>;
  /** In the order of the receipts, at most {@link MAX_BATCH}. `lease` in milliseconds from now. */
  extend(partition: Partition, lease: number, receipts: readonly Receipt[]): Promise<ExtendStatus[]>;
  /**
   * Makes a dead letter of a message that cannot be claimed or settled, whatever is stored of it; its envelope stays as it is,
   * and no attempt is spent.
   *
   * @param receipt of its current delivery; with the token 0, of a message that is due or whose lease has ended
   * @returns the stored id of the dead letter, which is another one where the message's was no text; `undefined` where it
   * was not set aside, since it is not there, or not any more what the receipt says
   */
  setAside(partition: Partition, receipt: Receipt, failure: Failure): Promise<string | undefined>;
  get(partition: Partition, storedId: string): Promise<StoredMessage | undefined>;
  stats(partition: Partition): Promise<PartitionStats>;
  /**
   * Removes dead letters older than `maxAge` milliseconds, and the oldest beyond `maxCount`; some hundred at a time.
   * Answers when to come again (epoch milliseconds), `undefined` where nothing is left that will expire.
   */
  trimDead(
    partition: Partition,
    limits: { maxAge?: number | undefined; maxCount?: number | undefined },
  ): Promise<number | undefined>;
}

/** Who consumes a topic, and which partition belongs to whom. */
export interface GroupStore {
  /**
   * Fixes the number of partitions of a topic at its first use and answers what is stored.
   *
   * @param partitions the number wanted where the topic is new
   */
  configure(topic: string, partitions: number): Promise<TopicConfig>;
  /** What is stored of a topic; `undefined` where it was never used. */
  configOf(topic: string): Promise<TopicConfig | undefined>;
  /** Joins, or stays: `session` milliseconds from now the member counts as gone. Answers all live members, sorted by id. */
  join(topic: string, member: string, session: number, holdings: readonly number[]): Promise<Member[]>;
  leave(topic: string, member: string): Promise<void>;
  /** Whether the topic has a live member: a process that handles it. */
  hasMembers(topic: string): Promise<boolean>;
  acquire(partition: Partition, member: string, session: number): Promise<AcquireResult>;
  /**
   * Begins the owner's session anew. Where that turns out to be another member, this is harmless: it renews its session
   * itself, and claims are refused to everyone else all the same.
   */
  renew(partition: Partition, member: string, session: number): Promise<RenewResult>;
  release(partition: Partition, member: string): Promise<void>;
}

/** Signals between processes. They may get lost; whoever listens has to look by itself now and then. */
export interface SignalSource {
  /**
   * Listens from now on. If the broker cannot be told so, it is told again until it has confirmed it; nobody has to wait.
   *
   * @param onListening told each time signals begin to come after a time in which they may have been lost, the first one
   *   included: then it is time to look
   */
  watchPartition(
    partition: Partition,
    listener: (signal: PartitionSignal) => void,
    onListening?: () => void,
  ): Unsubscribe;
  /** Calls the listener when members of the topic come, go, or change what they hold. The rest as above. */
  watchMembers(topic: string, listener: () => void, onListening?: () => void): Unsubscribe;
  /** Calls the listener each time the broker can be reached again by calls. */
  onAvailable(listener: () => void): () => void;
  /** Calls the listener with each error of a connection; whoever waits for a call is told by that call. */
  onError(listener: (error: Error) => void): () => void;
}

/**
 * Everything the runtime needs of the place where messages are kept. Methods reject with `BrokerUnavailableError` where it
 * cannot be reached; any of them may then be repeated with the same arguments.
 */
export interface Broker extends MessageStore, GroupStore, SignalSource {
  readonly link: BrokerLink;
  readonly admin: AdminStore;
  readonly deadLetters: DeadLetterStore;
  /** The broker's clock as this process estimates it, epoch milliseconds with fractions. */
  now(): number;
  readonly eventLog: EventLog;
  /** @throws BrokerUnavailableError, ConfigurationError where the server is too old */
  connect(): Promise<void>;
  close(): Promise<void>;
}

/** Version of the layout of keys and records; stored with each topic and compared at boot. */
export const PROTOCOL_VERSION = 1;
