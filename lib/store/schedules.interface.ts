import type { TopicOrder } from './message-calls.interface.js';
import type { Owner } from './owner.js';

/** Names a schedule. */
export interface ScheduleName {
  readonly id: string;
}

/** Where a schedule is kept: in the partition of this key, as all that it publishes. */
export interface SchedulePlace {
  readonly topic: string;
  readonly key: string;
}

/** An entry of the list of all schedules. */
export interface IndexedSchedule extends ScheduleName, SchedulePlace {}

/** What a schedule is made of; a broker keeps it as it is. */
export interface ScheduleContent {
  /** When it publishes; one line. */
  readonly definition: string;
  /** Of the messages that it publishes; what is stored of the time of publishing is replaced in each. */
  readonly envelope: string;
}

/** A schedule as it is stored; any text if another program wrote it. */
export interface StoredSchedule extends ScheduleName, ScheduleContent {
  /** How far it has come; one line. No two writes have the same, so whoever changes a schedule says which state it has seen. */
  readonly state: string;
}

/** A schedule that was looked up. */
export interface FoundSchedule extends StoredSchedule {
  /** When the broker takes its next occurrence to be, epoch milliseconds; `undefined`: never. */
  readonly nextAt: number | undefined;
}

export interface ScheduleWrite extends ScheduleName {
  /** The state that has to be stored; `undefined`: no such schedule may be stored. */
  readonly expected: string | undefined;
  /** The new one. */
  readonly state: string;
  /** `undefined`: it stays. */
  readonly content?: ScheduleContent | undefined;
  /** When its next occurrence is, epoch milliseconds; `undefined`: never. */
  readonly nextAt: number | undefined;
}

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

/** What the stored ids of all messages of a schedule have in common; a digit follows the prefix. */
export interface OccurrenceSeries {
  readonly prefix: string;
  readonly suffix: string;
}

/** An occurrence that is to be published. */
export interface Occurrence extends Omit<ScheduleWrite, 'content' | 'expected'> {
  readonly expected: string;
  /** Who publishes; exactly this has to be stored as the owner of the partition. */
  readonly owner: Owner;
  /** Of the message. If one with this id exists, it stays as it is. */
  readonly storedId: string;
  /** Epoch milliseconds. */
  readonly dueAt: number;
  /** Of the message. */
  readonly tags?: readonly string[] | undefined;
  /** Of the topic. */
  readonly order?: TopicOrder | undefined;
  /** If it is given, nothing is published while an earlier message of the schedule waits, runs or retries; the state is this one then. */
  readonly unlessBusy?: { readonly state: string; readonly series: OccurrenceSeries } | undefined;
}

export type OccurrenceResult =
  /** `duplicate`: a message with this id existed, and was left as it is. */
  | { readonly status: 'published'; readonly duplicate: boolean }
  | { readonly status: 'skipped' }
  /** The schedule is not as it was seen. */
  | { readonly status: 'changed' }
  /** What is stored of the owner instead; `undefined` if nothing is. */
  | { readonly status: 'not-owner'; readonly owner: Owner | undefined };
