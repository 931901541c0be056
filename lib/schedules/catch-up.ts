import { Recurrence } from './recurrence.js';
import type { ScheduleRecord } from './schedule-record.js';

/**
 * An occurrence that is so late at most is published whatever `catchUp` says, in milliseconds: so long the partitions of a process
 * that has died may have no owner, and nobody but the process has missed anything.
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
  const recurrence = new Recurrence(rule);
  const isOutage = now - next > MOST_LATE;
  if (!isOutage || catchUp === 'all') return { publish: next, next: recurrence.after(next), missed: undefined };
  const latest = recurrence.lastUntil(next, now);
  const following = recurrence.after(latest);
  const count = recurrence.count(next, latest);
  if (catchUp === 'none') {
    return { publish: undefined, next: following, missed: { first: next, last: latest, count } };
  }
  const missed = { first: next, last: before(recurrence, next, latest), count: count - 1 };
  return { publish: latest, next: following, missed: latest === next ? undefined : missed };
}

/** The occurrence before `latest`, which is not the first one. */
function before(recurrence: Recurrence, first: number, latest: number): number {
  return first === latest ? first : recurrence.lastUntil(first, latest - 1);
}
