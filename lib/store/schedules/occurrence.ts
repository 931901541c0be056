import type { Reply } from '../driver.interface.js';
import type { Owner } from '../fleet/owner.js';
import type { TopicOrder } from '../fleet/topic-config.js';
import type { ScheduleWrite } from './schedule-records.js';

/** Common parts of the stored ids of all messages of a schedule; a digit follows the prefix. */
export interface OccurrenceSeries {
  readonly prefix: string;
  readonly suffix: string;
}

/** An occurrence that is to be published. */
export interface Occurrence extends Omit<ScheduleWrite, 'content' | 'expected'> {
  readonly expected: string;
  /** Publisher, which has to be stored exactly like this as the owner of the partition. */
  readonly owner: Owner;
  /** Stored id of the message. If one with this id exists, it stays as it is. */
  readonly storedId: string;
  /** Epoch milliseconds. */
  readonly dueAt: number;
  /** Tags of the message. */
  readonly tags?: readonly string[] | undefined;
  /** Order of the topic. */
  readonly order?: TopicOrder | undefined;
  /** If given, nothing is published while an earlier message of the schedule waits, runs or retries; the state is this one then. */
  readonly unlessBusy?: { readonly state: string; readonly series: OccurrenceSeries } | undefined;
}

export type OccurrenceResult =
  /** `duplicate`: a message with this id existed, and was left as it is. */
  | { readonly status: 'published'; readonly duplicate: boolean }
  | { readonly status: 'skipped' }
  /** The schedule is not as it was seen. */
  | { readonly status: 'changed' }
  /** Owner that is stored instead; `undefined` if none is. */
  | { readonly status: 'not-owner'; readonly owner: Owner | undefined };

/** Statuses of a publish whose only message was created. */
const CREATED = '';

const OCCURRENCE_RESULT = {
  2: { status: 'changed' },
  3: { status: 'published', duplicate: false },
  4: { status: 'skipped' },
} as const satisfies Readonly<Record<number, OccurrenceResult>>;

/** Reads a reply. An occurrence that was published is answered like the publish of one message. */
export function occurrenceResult([status, more]: Reply): OccurrenceResult {
  if (typeof status === 'string') return { status: 'published', duplicate: status.split(' ')[1] !== CREATED };
  if (status === 0) return { status: 'not-owner', owner: (more as Owner) || undefined };
  return OCCURRENCE_RESULT[status as 2 | 3 | 4];
}
