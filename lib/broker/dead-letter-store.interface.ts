import type { Failure } from '../messages/failure.js';
import type { CallId, Partition } from './broker.interface.js';

/**
 * One death of a message. What was requeued and died again has another, so that what was decided about the first one does
 * not happen to the second.
 */
export interface Death {
  readonly storedId: string;
  /** Epoch milliseconds. */
  readonly diedAt: number;
}

export interface DeadLetterQuery {
  /** Goes on behind this one, which need not be there any more. */
  readonly after?: Death | undefined;
  /** Only those that died at this time or later, epoch milliseconds. */
  readonly since?: number | undefined;
  /** Only those that died before this time, epoch milliseconds. @defaultValue all that have died by now */
  readonly until?: number | undefined;
  /** Most of them, 1 to `MAX_BATCH`; where their failures are long, fewer come. */
  readonly limit: number;
  /** Whether to bring their failures along. */
  readonly withFailures: boolean;
}

export interface ListedDeadLetter extends Death {
  /** `undefined` where none is stored, or none was asked for. */
  readonly failure: Failure | undefined;
}

export interface DeadLetterPage {
  /** In order of death, equal ones in order of their stored ids. */
  readonly letters: readonly ListedDeadLetter[];
  /** Where the next page begins; `undefined` where this was the last. */
  readonly next: Death | undefined;
  /** The broker's clock when it looked, in whole milliseconds. */
  readonly now: number;
}

/** A dead letter that is to be scheduled again. */
export interface Requeue extends Death {
  /** Takes the place of the stored one. */
  readonly envelope?: string | undefined;
}

/** Dead letters. Every method takes a bounded amount of work and may be repeated without harm. */
export interface DeadLetterStore {
  listDead(partition: Partition, query: DeadLetterQuery): Promise<DeadLetterPage>;
  /**
   * Schedules dead letters again, due after `delay` milliseconds, with no attempt spent. All else stays as it is.
   *
   * @param deaths 1 to `MAX_BATCH`; one at most with an envelope
   * @returns in their order, whether each was requeued; `false` where it is not there any more
   */
  requeueDead(partition: Partition, call: CallId, deaths: readonly Requeue[], delay: number): Promise<boolean[]>;
  /**
   * Removes dead letters for good.
   *
   * @param deaths 1 to `MAX_BATCH`
   * @returns in their order, whether each was removed; `false` where it is not there any more
   */
  removeDead(partition: Partition, call: CallId, deaths: readonly Death[]): Promise<boolean[]>;
}
