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

export interface PublishedMessages {
  readonly messages: readonly PublishedMessage[];
}

export interface PublishResults {
  readonly messages: readonly (PublishedMessage | { readonly error: Problem })[];
}

export interface Message extends Omit<MessageDetails, 'raw' | 'backoff'> {
  /** How long it waits after a failed attempt, if it was published with the option; times are milliseconds. */
  readonly backoff: Readonly<Record<string, unknown>> | undefined;
}

export interface CancelResult {
  /** What became of it. */
  readonly result: CancelOutcome;
}

export interface RescheduleResult {
  /** Whether it was moved, or why not. */
  readonly result: RescheduleOutcome;
}

/** What can be done with a received message is done by its receipt. */
export type ReceivedMessage = Omit<Received, 'ack' | 'retry' | 'dead' | 'release' | 'extend' | 'signal'>;

export interface ReceivedMessages {
  readonly messages: readonly ReceivedMessage[];
}

export interface SettleResult {
  /** Names the delivery. */
  readonly receipt: string;
  /** What became of the outcome. */
  readonly status: SettleStatus;
}

export interface SettleResults {
  readonly results: readonly SettleResult[];
}

export interface ExtendResult {
  /** Names the delivery. */
  readonly receipt: string;
  /** What became of the lease. */
  readonly status: ExtendStatus;
}

export interface ExtendResults {
  readonly results: readonly ExtendResult[];
}

export interface Topics {
  readonly topics: readonly string[];
}

/** Schedules of a topic that cannot be told now. */
export interface FailedSchedules {
  readonly topic: string;
  readonly ids: readonly string[];
  readonly error: Problem;
}

export interface Schedules {
  readonly schedules: readonly Schedule[];
  readonly failed: readonly FailedSchedules[];
}

export interface Removed {
  readonly removed: boolean;
}

/** What the gateway says of itself, as OpenAPI has it. */
export type Document = Readonly<Record<string, unknown>>;

export interface Health {
  readonly status: 'up' | 'down';
}
