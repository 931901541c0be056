import type { MessageDetails } from '../admin/message-details.js';
import type {
  ReceivedMessage as Received,
  ExtendResult as ExtendStatus,
} from '../consumer/pulling/received-message.js';
import type { PublishedMessage } from '../messages/publish-options.interface.js';
import type { SettleStatus } from '../messages/settle-status.js';
import type { Schedule } from '../schedules/schedule.interface.js';
import type {
  CancelResult as CancelOutcome,
  RescheduleResult as RescheduleOutcome,
} from '../store/messages/change-message.js';
import type { Problem } from './problem.js';

// What is answered. Each type is a schema of the document under its name here, which scripts/setup/answer-table.mjs makes.

export type { ExplainFacts, Explanation } from '../admin/explain.js';
export type { FleetReceiver as Receiver } from '../admin/fleet.js';
export type { PartitionStatus as PartitionStats, TopicCounters, TopicStats } from '../admin/topic-stats.js';
export type { PayloadIssue } from '../checks/payload-issues.js';
export type { FailedAttempt } from '../messages/failure.js';
export type { Failure, FailureCause } from '../messages/failure.js';
export type { CancelTaggedResult } from '../producer/message-changes.js';
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
