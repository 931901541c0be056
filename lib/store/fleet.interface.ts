import type { Partition, Receipt, TopicOrder } from './message-calls.interface.js';
import type { ResolvedBackoff } from '../messages/backoff.js';
import type { TopicLimits } from './limits.interface.js';
import type { RetentionLimits } from './stored-message.interface.js';
import type { Owner } from './owner.js';

/** Version of the layout of keys and records; stored with each topic and compared at boot. */
export const PROTOCOL_VERSION = 2;

export interface TopicConfig {
  readonly partitions: number;
  readonly protocol: number;
  /** `undefined`: the topic has no order. */
  readonly order?: TopicOrder | undefined;
  /** `undefined`: none. */
  readonly limits?: TopicLimits | undefined;
  /** `undefined`: by the defaults. */
  readonly handling?: TopicHandling | undefined;
}

/**
 * How those who handle a topic have it handled, for those who receive its messages and were told nothing. What is not there is as by default.
 * Times in milliseconds.
 */
export interface TopicHandling {
  readonly attempts?: number | undefined;
  readonly backoff?: ResolvedBackoff | undefined;
  readonly expireAfter?: number | undefined;
  readonly delivery?: 'at-most-once' | undefined;
  readonly deadLetter?: RetentionLimits | undefined;
  readonly finished?: RetentionLimits | undefined;
  /** Whether they have one. */
  readonly serializer?: true | undefined;
}

/** What can change of a topic. */
export type TopicTerms = Pick<TopicConfig, 'limits' | 'handling'>;

// ── sessions ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** What a process says of itself with each heartbeat. */
export interface Heartbeat {
  /** Names the process: `host:pid:uuid`, new at each boot. */
  readonly session: string;
  /** Counts its heartbeats. */
  readonly count: number;
  /** For how long its session lasts without a heartbeat, in milliseconds. */
  readonly length: number;
  /** Names the list of topics that it handles; see {@link BrokerOperations.rememberTopics}. */
  readonly digest: string;
}

/**
 * A session as it is stored. Whether it has ended is for each process to find out, by whether its count grows; the time is only
 * for those who look once.
 */
export interface SessionRecord extends Heartbeat {
  /** When the process sent its latest heartbeat, by its estimate of the broker's clock; epoch milliseconds. */
  readonly at: number;
  /** Whether the process has left. */
  readonly left: boolean;
}

export interface FleetLook {
  /** Whether the session was not there: it is the first heartbeat, or others have forgotten it, or Redis has lost it. */
  readonly isNew: boolean;
  /** A random word that nobody removes: another one means that data was lost. `undefined`: none could be stored. */
  readonly mark: string | undefined;
  /** All sessions, sorted by name, the own one included. */
  readonly sessions: readonly SessionRecord[];
}

/** The topics that a process handles, under a digest of the list: many processes handle the same topics. */
export interface TopicList {
  readonly digest: string;
  readonly topics: readonly string[];
}

// ── owners ──────────────────────────────────────────────────────────────────────────────────────────────────────────

export type AcquireResult =
  | { readonly acquired: true }
  /** The owner that is stored instead; `undefined` if none is. */
  | { readonly acquired: false; readonly owner: Owner | undefined };

// ── signals ─────────────────────────────────────────────────────────────────────────────────────────────────────────

export type PartitionSignal =
  /** Something may be due earlier than was known, at this time (epoch milliseconds). */
  | { readonly kind: 'due'; readonly at: number }
  /** A schedule publishes earlier than was known, at this time (epoch milliseconds). */
  | { readonly kind: 'schedules'; readonly at: number }
  /** A message in flight was cancelled. */
  | ({ readonly kind: 'cancelled' } & Receipt);

/** Most partitions that one signal names. */
export const MAX_RELEASED = 100;

export type SessionSignal =
  /** A session came or went, or handles other topics now. */
  | { readonly kind: 'changed' }
  /** Partitions that the session is to own were released; at most {@link MAX_RELEASED}. */
  | { readonly kind: 'released'; readonly partitions: readonly Partition[] }
  /** Another process is to own a partition that is stored as this session's. */
  | { readonly kind: 'wanted'; readonly partition: Partition; readonly owner: Owner }
  /** Another process cannot read which topics the session handles. */
  | { readonly kind: 'unknown-topics' }
  /** There may be permits for the topic, or others wait for those that the session has. */
  | { readonly kind: 'permits'; readonly topic: string }
  /** A delivery that the session has handed out lasts for so long from now on, in milliseconds; 0: it has ended. */
  | { readonly kind: 'lease'; readonly partition: Partition; readonly token: string; readonly lease: number }
  /** Other limits are stored with the topic. */
  | { readonly kind: 'limits'; readonly topic: string }
  /** What the session has sent to itself, to know that signals come through. */
  | { readonly kind: 'echo'; readonly count: number };

/** A signal, and the session that it is for; without one it is for all. */
export interface FleetSignal {
  readonly to?: string | undefined;
  readonly signal: SessionSignal;
}
