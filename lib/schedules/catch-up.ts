import { Recurrence } from './recurrence.js';
import type { ScheduleRecord } from './schedule-record.js';

/**
 * Lateness up to which an occurrence is published whatever `catchUp` says, in milliseconds: the partitions of a process that has died can
 * lack an owner for this long, and only that process has missed anything. Later occurrences belong to an outage.
 */
export const MOST_LATE = 20_000;

/** Occurrences that are not published. Times are epoch milliseconds. */
export interface MissedOccurrences {
  readonly first: number;
  readonly last: number;
  readonly count: number;
}

/** Next step for a schedule that is due. */
export interface Step {
  /** Occurrence to publish; `undefined` if none. */
  readonly publish: number | undefined;
  /** Occurrence after that. */
  readonly next: number | undefined;
  readonly missed: MissedOccurrences | undefined;
}

/**
 * Decides which due occurrences to publish.
 *
 * @param next first due occurrence, not after `now`
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
