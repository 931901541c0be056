import type { FailureReason } from '../messages/failure.js';

/**
 * Dead letters that died of the same: reason, error name, code, and message without what differs from case to case.
 *
 * @publicApi
 */
export interface DeadLetterGroup {
  /** Names the group in a filter; the same for the same failures, in every process and at any time. */
  readonly fingerprint: string;
  readonly reason: FailureReason;
  /** Name of the error's class. */
  readonly name: string;
  readonly code: string | undefined;
  /** The error's message, with `<n>`, `<uuid>`, `<hex>` and `<text>` for numbers, ids and what was quoted. */
  readonly pattern: string;
  readonly count: number;
  /** When the first one died, of those that are still there. */
  readonly firstAt: Date;
  readonly lastAt: Date;
  /** The one that died last. */
  readonly example: { readonly id: string; readonly key: string };
}

/**
 * The dead letters of a topic by what they died of.
 *
 * @publicApi
 */
export interface DeadLetterGroups {
  readonly total: number;
  /** The largest first; those that were met first, at most 1,000. */
  readonly groups: readonly DeadLetterGroup[];
  /** Dead letters that are in none of the groups: there were more than 1,000, or no failure is stored. */
  readonly ungrouped: number;
}
