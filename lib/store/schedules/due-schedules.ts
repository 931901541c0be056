import { timeOrNone } from '../calls/replies.js';
import type { Reply } from '../driver.interface.js';
import { type StoredSchedule, decodeSchedule } from './schedule-records.js';

/** Selection of the schedules to look for. */
export interface ScheduleLook {
  /** Time before its occurrence from which one is listed, in milliseconds; 0 by default. */
  readonly ahead?: number;
  /** Number to leave out at the beginning; 0 by default. */
  readonly skip?: number;
}

export interface DueSchedules {
  /** Schedules whose time has come, the earliest first. */
  readonly due: readonly StoredSchedule[];
  /** Time at which the first of all others publishes, epoch milliseconds; in the past if there was no room for all that are due. */
  readonly nextAt: number | undefined;
  /** Time of the look on the broker's clock, in whole milliseconds. */
  readonly now: number;
  /** Number of schedules of the partition. */
  readonly count: number;
  /** Number of entries that were missing, or had no schedule or a wrong time, and were mended. */
  readonly repaired: number;
  /** Schedules that another program has left in a form that cannot be changed. They are not listed again. */
  readonly damaged: readonly string[];
}

/** Most schedules in one look. */
export const MAX_DUE_SCHEDULES = 100;

export function dueSchedules([now, nextAt, count, repaired, damaged, ...fields]: Reply): DueSchedules {
  const due: StoredSchedule[] = [];
  for (let i = 0; i < fields.length; i += 2) due.push(decodeSchedule(fields[i] as string, fields[i + 1] as string));
  return {
    due,
    nextAt: timeOrNone(nextAt),
    now: now as number,
    count: count as number,
    repaired: repaired as number,
    damaged: String(damaged).split('\0').slice(0, -1),
  };
}
