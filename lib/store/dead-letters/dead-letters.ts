import { decodeFailureRecord } from '../../messages/failure-record.js';
import type { Failure } from '../../messages/failure.js';
import { toScore } from '../calls/replies.js';
import type { Reply } from '../driver.interface.js';

/**
 * One death of a message. A message that was requeued and died again has another one, so that a decision about the first
 * death does not apply to the second.
 */
export interface Death {
  readonly storedId: string;
  /** Epoch milliseconds. */
  readonly diedAt: number;
}

export interface DeadLetterQuery {
  /** The page begins behind this dead letter, which may be gone. */
  readonly after?: Death | undefined;
  /** Only those that died at this time or later, epoch milliseconds. */
  readonly since?: number | undefined;
  /** Only those that died before this time, epoch milliseconds. @defaultValue all that have died by now */
  readonly until?: number | undefined;
  /** Most of them, 1 to `MAX_BATCH`; fewer come if their failures are long. */
  readonly limit: number;
  /** Whether to include their failures. */
  readonly withFailures: boolean;
}

export interface ListedDeadLetter extends Death {
  /** `undefined` if none is stored, or none was asked for. */
  readonly failure: Failure | undefined;
}

export interface DeadLetterPage {
  /** In order of death, equal ones in order of their stored ids. */
  readonly letters: readonly ListedDeadLetter[];
  /** Place where the next page begins; `undefined` if this was the last. */
  readonly next: Death | undefined;
  /** Time of the look on the broker's clock, in whole milliseconds. */
  readonly now: number;
}

/** A dead letter that is to be scheduled again. */
export interface Requeue extends Death {
  /** Takes the place of the stored one. */
  readonly envelope?: string | undefined;
}

/** Reads a reply of `lua/list.lua` with failures only, or without a field. */
export function deadLetterPage(withFailures: boolean, [now, more, ...fields]: Reply): DeadLetterPage {
  const letters: ListedDeadLetter[] = [];
  for (let i = 0; i < fields.length; i += withFailures ? 3 : 2) {
    letters.push({
      storedId: fields[i] as string,
      diedAt: toScore(fields[i + 1]),
      failure: withFailures ? decodeFailureRecord(fields[i + 2] as string)?.failure : undefined,
    });
  }
  return { letters, next: more === 1 ? letters.at(-1) : undefined, now: now as number };
}

/** Returns whether each dead letter was there. */
export function wereFound([digits]: Reply): boolean[] {
  return Array.from(String(digits), (digit) => digit === '1');
}
