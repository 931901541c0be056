import { timeOrNone } from '../calls/replies.js';
import type { Reply } from '../driver.interface.js';
import { type StoredSchedule, decodeSchedule } from './schedule-records.js';

/** Which schedules are looked for. */
export interface ScheduleLook {
  /** How long before its time one is listed, in milliseconds; 0 by default. */
  readonly ahead?: number;
  /** How many are left out at the beginning; 0 by default. */
  readonly skip?: number;
}

export interface DueSchedules {
  /** Those whose time has come, the earliest first. */
  readonly due: readonly StoredSchedule[];
  /** When the first of all others publishes, epoch milliseconds; in the past if there was no room for all that are due. */
  readonly nextAt: number | undefined;
  /** The broker's clock when it looked, in whole milliseconds. */
  readonly now: number;
  /** How many schedules the partition has. */
  readonly count: number;
  /** How many entries were missing, had no schedule or a wrong time, and were mended. */
  readonly repaired: number;
  /** Those that another program has left in a form that nobody could change. They are not listed again. */
  readonly damaged: readonly string[];
}

/** Most schedules that one look lists. */
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
