import { Recurrence } from './recurrence.js';
import type { ScheduleRecord } from './schedule-record.js';

/**
 * An occurrence that is so late at most is published whatever `catchUp` says, in milliseconds: so long the partitions of a process
 * that has died may have no owner, and nobody but the process has missed anything. What is later belongs to an outage.
 */
export const MOST_LATE = 20_000;

/** Occurrences that are not published. Times are epoch milliseconds. */
export interface MissedOccurrences {
  readonly first: number;
  readonly last: number;
  readonly count: number;
}

/** What comes next for a schedule that is due. */
export interface Step {
  /** The occurrence to publish; `undefined`: none. */
  readonly publish: number | undefined;
  /** The occurrence after that. */
  readonly next: number | undefined;
  readonly missed: MissedOccurrences | undefined;
}

/**
 * Decides what becomes of the occurrences whose time has come.
 *
 * @param next the first of them, which is not after `now`
 * @throws InvalidArgumentError if the rule of the schedule cannot be read
 */
export function nextStep({ rule, catchUp }: ScheduleRecord, next: number, now: number): Step {
  const recurrence = Recurrence.of(rule);
  const outage = now - MOST_LATE;
  if (next >= outage || catchUp === 'all') {
    return { publish: next, next: recurrence.after(next), missed: undefined };
  }
  const following = recurrence.from(outage);
  const last = recurrence.lastUntil(next, outage - 1);
  const hasLatest = catchUp === 'latest' && (following ?? Infinity) > now;
  if (!hasLatest) return { publish: undefined, next: following, missed: span(recurrence, next, last) };
  const missed = last === next ? undefined : span(recurrence, next, recurrence.lastUntil(next, last - 1));
  return { publish: last, next: following, missed };
}

function span(recurrence: Recurrence, first: number, last: number): MissedOccurrences {
  return { first, last, count: recurrence.count(first, last) };
}
