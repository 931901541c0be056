import * as fc from 'fast-check';
import type { RetentionLimits } from '../../../lib/store/dead-letters/retention.js';
import type { ClaimRequest, ClaimedMessage } from '../../../lib/store/deliveries/claim.js';
import type { Limits } from '../../../lib/store/deliveries/limits.js';
import type { Owner } from '../../../lib/store/fleet/owner.js';
import type { TopicOrder } from '../../../lib/store/fleet/topic-config.js';
import type { Partition } from '../../../lib/store/partition.js';
import type { Compared } from './oracle/oracle.js';

/** All delays are whole hours, so that the milliseconds that a test takes never decide what is due. */
export const HOUR = 3_600_000;

export const PARTITION: Partition = { topic: 'model', index: 0 };
const SESSIONS = ['a', 'b'] as const;

/** Two ids without a key of their own, one id under two keys, and others of the same keys. */
export const STORED_IDS = ['one', 'two', 'same\0k1', 'same\0k2', 'other\0k1', 'last\0k1', 'other\0one'] as const;

/** What messages carry. */
export const TAGS = ['x', 'y'] as const;

/** What a topic is like. */
export interface TopicTerms {
  readonly order?: TopicOrder;
  readonly keyLimits?: Limits;
}

/** A message that was claimed, and under what time that stands in the log of its key. */
export interface Claimed extends ClaimedMessage {
  grantedAt: number | undefined;
}

/** What a step knows about earlier steps; each broker has its own. */
export class Memory {
  readonly terms: TopicTerms;
  /** What owners keep of finished messages. */
  finished: RetentionLimits | undefined;
  readonly claimed: Claimed[] = [];
  /** What each session has of the permits of the topic. */
  readonly permits = new Map<string, { held: number; used: number; sequence: number; permittedAt: number }>();
  /** Every claim that was sent. */
  readonly claims: ClaimRequest[] = [];
  /** What each session counts as the owner that it is, or was last. */
  readonly tenures = new Map<string, Tenure>();
  /** What was stored as the owner when a session last looked. */
  seen: Owner | undefined;
  sequence = 0;

  constructor(terms: TopicTerms) {
    this.terms = terms;
  }

  /** All times that a broker has told are earlier by now. */
  shift(milliseconds: number): void {
    for (const permits of this.permits.values()) permits.permittedAt -= milliseconds;
    for (const message of this.claimed) {
      if (message.grantedAt !== undefined) message.grantedAt -= milliseconds;
    }
  }
}

export interface Tenure {
  readonly owner: Owner;
  claims: number;
  delivered: number;
}

/** One step on one broker. It has to return the same for all. */
export interface Operation {
  readonly name: string;
  run(broker: Compared, memory: Memory): Promise<unknown>;
}

/** A step in which time passes; how depends on the broker. */
export interface Passing {
  readonly name: string;
  readonly hours: number;
}

export const storedId = fc.constantFrom(...STORED_IDS);
export const hours = fc.integer({ min: 0, max: 3 });
export const session = fc.constantFrom(...SESSIONS);
