import type { FailedAttempt } from './failed-attempt.js';
import type { Failure } from './failure.js';

/** What is stored of a message's failures. */
export interface FailureRecord {
  readonly failure: Failure;
  /** The latest attempts that failed, the last one first. */
  readonly history: readonly FailedAttempt[];
}

type StoredAttempt = Omit<FailedAttempt, 'at'> & { readonly at: number };

/**
 * The last failure as JSON, with `history` as its last property. In the entries of the history braces are escaped, so that
 * a script can tell where one ends, and put those of earlier attempts behind.
 *
 * @param attempt the one that failed; `undefined` where the handler was not called
 */
export function encodeFailureRecord(failure: Failure, attempt: FailedAttempt | undefined): string {
  return `${JSON.stringify(failure).slice(0, -1)},"history":[${attempt ? encodeAttempt(attempt) : ''}]}`;
}

/** @returns `undefined` for no text, and where it was not written by {@link encodeFailureRecord} */
export function decodeFailureRecord(text: string): FailureRecord | undefined {
  if (text === '') return undefined;
  let record: Failure & { readonly history?: readonly StoredAttempt[] };
  try {
    record = JSON.parse(text) as typeof record;
  } catch {
    return undefined;
  }
  const { history = [], ...failure } = record;
  return { failure, history: history.map((attempt) => ({ ...attempt, at: new Date(attempt.at) })) };
}

function encodeAttempt({ at, ...rest }: FailedAttempt): string {
  const fields = JSON.stringify({ at: at.getTime(), ...rest }).slice(1, -1);
  return `{${fields.replaceAll('{', '\\u007b').replaceAll('}', '\\u007d')}}`;
}
