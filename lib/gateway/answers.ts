import type { MessageDetails } from '../admin/index.js';
import type {
  CancelResult as CancelOutcome,
  ExtendResult as ExtendStatus,
  PublishedMessage,
  ReceivedMessage as Received,
  RescheduleResult as RescheduleOutcome,
  Schedule,
  SettleStatus,
} from '../index.js';
import type { Problem } from './problem.js';

// What is answered. Each type is a schema of the document under its name here, which scripts/setup/answer-table.mjs makes.

export type {
  ExplainFacts,
  Explanation,
  FleetReceiver as Receiver,
  PartitionStatus as PartitionStats,
  TopicCounters,
  TopicStats,
} from '../admin/index.js';
export type { CancelTaggedResult, FailedAttempt, Failure, FailureCause, PayloadIssue } from '../index.js';
export type { Problem, PublishedMessage, Schedule };

/** Several messages that were published. */
export interface PublishedMessages {
  /** In the order in which they were given. */
  readonly messages: readonly PublishedMessage[];
}

/** What became of several messages, of which some were refused. */
export interface PublishResults {
  /** What became of each, in the order in which they were given. */
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
  /** As it was published; `undefined` if what is stored cannot be decoded. */
  readonly payload: unknown;
  /** How long it waits after a failed attempt, if it was published with the option; times are milliseconds. */
  readonly backoff: Readonly<Record<string, unknown>> | undefined;
}

/** What became of a message that was to be cancelled. */
export interface CancelResult {
  readonly result: CancelOutcome;
}

/** What became of a message that was to be moved. */
export interface RescheduleResult {
  readonly result: RescheduleOutcome;
}

/** A message that belongs to its receiver until its lease ends. The first settlement of its receipt counts. */
export type ReceivedMessage = Omit<Received, 'ack' | 'retry' | 'dead' | 'release' | 'extend' | 'signal'>;

/** Messages that were received. */
export interface ReceivedMessages {
  /** None if none was due in time. */
  readonly messages: readonly ReceivedMessage[];
}

/** What became of a settlement. */
export interface SettleResult {
  /** Names the delivery. */
  readonly receipt: string;
  readonly status: SettleStatus;
}

/** What became of several settlements. */
export interface SettleResults {
  /** In the order of the settlements. */
  readonly results: readonly SettleResult[];
}

/** What became of an extension. */
export interface ExtendResult {
  /** Names the delivery. */
  readonly receipt: string;
  readonly status: ExtendStatus;
}

/** What became of several extensions. */
export interface ExtendResults {
  /** In the order of the extensions. */
  readonly results: readonly ExtendResult[];
}

/** The topics that may be read. */
export interface Topics {
  /** Their names. */
  readonly topics: readonly string[];
}

/** Schedules of a topic that cannot be told now. */
export interface FailedSchedules {
  /** Where their messages go. */
  readonly topic: string;
  /** Names of the schedules. */
  readonly ids: readonly string[];
  /** Why they cannot be told. */
  readonly error: Problem;
}

/** The schedules that may be read. */
export interface Schedules {
  /** In the order of their ids. */
  readonly schedules: readonly Schedule[];
  /** Those that cannot be told now, by topic. */
  readonly failed: readonly FailedSchedules[];
}

/** What became of a schedule that was to be removed. */
export interface Removed {
  /** Whether it was there. */
  readonly removed: boolean;
}

/** What the gateway says of itself, as OpenAPI has it. */
export interface Document {
  readonly [name: string]: unknown;
}

/** Whether the gateway is up. */
export interface Health {
  /** Whether requests can be served. */
  readonly status: 'up' | 'down';
}
