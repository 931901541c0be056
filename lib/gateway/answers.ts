import type { MessageDetails } from '../admin/index.js';
import type {
  CancelResult as CancelOutcome,
  ExtendResult as ExtendStatus,
  ConfirmedPublish as PublishedMessage,
  ReceivedMessage as Received,
  RescheduleResult as RescheduleOutcome,
  Schedule,
  SettleStatus,
} from '../index.js';
import type { Problem } from './problem.js';

// Types of answers. Those that a route names, and what they consist of, are schemas of the document under their names here, which
// scripts/setup/answer-table.mjs makes.

export type * from '../admin/index.js';
export type { FleetReceiver as Receiver, PartitionStatus as PartitionStats } from '../admin/index.js';
export type * from '../index.js';
export type { Problem, PublishedMessage };

/** Several messages that were published. */
export interface PublishedMessages {
  /** Messages in the given order. */
  readonly messages: readonly PublishedMessage[];
}

/** Outcomes for several messages, some of which were refused. */
export interface PublishResults {
  /** Outcome for each message, in the given order. */
  readonly messages: readonly (
    | PublishedMessage
    | {
        /** Why it was refused. */
        readonly error: Problem;
      }
  )[];
}

/** A message as it is stored. */
export interface Message extends Omit<MessageDetails, 'raw' | 'payload' | 'backoff'> {
  /** The published payload; `undefined` if it cannot be decoded. */
  readonly payload: unknown;
  /** Wait after a failed attempt, if it was published with the option; times are milliseconds. */
  readonly backoff: Readonly<Record<string, unknown>> | undefined;
}

/** Outcome for a message that was to be cancelled. */
export interface CancelResult {
  readonly result: CancelOutcome;
}

/** Outcome for a message that was to be moved. */
export interface RescheduleResult {
  readonly result: RescheduleOutcome;
}

/** A message that belongs to its receiver until its lease ends. The first settlement of its receipt counts. */
export type ReceivedMessage = Omit<Received, 'ack' | 'retry' | 'dead' | 'release' | 'extend' | 'signal'>;

/** Messages that were received. */
export interface ReceivedMessages {
  /** Received messages; none if none was due in time. */
  readonly messages: readonly ReceivedMessage[];
}

/** Outcome of a settlement. */
export interface SettleResult {
  /** Names the delivery. */
  readonly receipt: string;
  readonly status: SettleStatus;
}

/** Outcomes of several settlements. */
export interface SettleResults {
  /** Outcomes in the order of the settlements. */
  readonly results: readonly SettleResult[];
}

/** Outcome of an extension. */
export interface ExtendResult {
  /** Names the delivery. */
  readonly receipt: string;
  readonly status: ExtendStatus;
}

/** Outcomes of several extensions. */
export interface ExtendResults {
  /** Outcomes in the order of the extensions. */
  readonly results: readonly ExtendResult[];
}

/** Topics that the sender is allowed to read. */
export interface Topics {
  /** Their names. */
  readonly topics: readonly string[];
}

/** Schedules of a topic that cannot be read now. */
export interface FailedSchedules {
  /** Topic of their messages. */
  readonly topic: string;
  /** Names of the schedules. */
  readonly ids: readonly string[];
  /** Why they cannot be read. */
  readonly error: Problem;
}

/** Schedules that the sender is allowed to read. */
export interface Schedules {
  /** Schedules in the order of their ids. */
  readonly schedules: readonly Schedule[];
  /** Schedules that cannot be read now, by topic. */
  readonly failed: readonly FailedSchedules[];
}

/** Outcome for a schedule that was to be removed. */
export interface Removed {
  /** Whether it was there. */
  readonly removed: boolean;
}

/** Description of the gateway, as OpenAPI has it. */
export interface Document {
  readonly [name: string]: unknown;
}

/** Whether the gateway is up. */
export interface Health {
  /** Whether requests can be served. */
  readonly status: 'up' | 'down';
}
