import * as fc from 'fast-check';
import type {
  Broker,
  ClaimRequest,
  ClaimedMessage,
  Limits,
  Owner,
  Partition,
  TopicOrder,
} from '../../../lib/broker/broker.interface.js';

/** All delays are whole hours, so that the milliseconds that a test takes never decide what is due. */
export const HOUR = 3_600_000;

export const PARTITION: Partition = { topic: 'model', index: 0 };
const SESSIONS = ['a', 'b'] as const;

export const hours = fc.integer({ min: 0, max: 3 });
export const session = fc.constantFrom(...SESSIONS);

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

interface Tenure {
  readonly owner: Owner;
  claims: number;
  delivered: number;
}

/** One step on one broker. It has to return the same for both. */
export interface Operation {
  readonly name: string;
  run(broker: Broker, memory: Memory): Promise<unknown>;
}
