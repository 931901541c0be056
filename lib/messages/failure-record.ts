import { MAX_TIME } from '../time/date.js';
import { isPlainObject } from '../checks/kinds.js';
import { isWithin } from '../checks/validate.js';
import {
  type FailedAttempt,
  type Failure,
  FAILURE_REASONS,
  type FailureCause,
  type FailureReason,
  MAX_CAUSES,
} from './failure.js';
import { isPayloadIssue } from '../checks/payload-issues.js';

/** Stored record of a message's failures. */
export interface FailureRecord {
  readonly failure: Failure;
  /** Latest failed attempts, the last one first. */
  readonly history: readonly FailedAttempt[];
}

/** Start of the history; only its entries follow. `lua/modules/history.lua` has the same text. */
const HISTORY = ',"history":[';

/** Most nested failures: a crash keeps the failure before it, and so on, and another program could nest them without end. */
const MAX_NESTED = 10;

/**
 * Encodes the last failure as JSON, with `history` as its last property. Braces in the entries of the history are escaped, so that a script
 * can see where an entry ends and append those of earlier attempts.
 *
 * @param attempt failed attempt; `undefined` if the handler was not called
 */
export function encodeFailureRecord(failure: Failure, attempt: FailedAttempt | undefined): string {
  return `${JSON.stringify(failure).slice(0, -1)}${HISTORY}${attempt ? encodeAttempt(attempt) : ''}]}`;
}

/**
 * Reads the stored record of a message's failures; never throws. Parts that {@link encodeFailureRecord} did not write are left out.
 *
 * @returns `undefined` if there is no text, or if not even the last failure can be read
 */
export function decodeFailureRecord(text: string): FailureRecord | undefined {
  if (text === '') return undefined;
  // A script has joined the entries of the history without reading them; a damaged one must not cost the failure.
  const stored = parseJson(text) ?? parseJson(`${text.split(HISTORY, 1).join()}}`);
  const failure = toFailure(stored);
  if (!failure) return undefined;
  const { history } = stored as { history?: unknown };
  return { failure, history: Array.isArray(history) ? history.flatMap(toAttempts) : [] };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function toFailure(stored: unknown, depth = 0): Failure | undefined {
  if (!isPlainObject(stored)) return undefined;
  const { reason, stack, lastError, issues } = stored;
  const error = toCause(stored);
  if (!isReason(reason) || !error) return undefined;
  const before = depth < MAX_NESTED ? toFailure(lastError, depth + 1) : undefined;
  return {
    reason,
    ...error,
    ...(typeof stack === 'string' && { stack }),
    ...(before && { lastError: before }),
    ...(Array.isArray(issues) && { issues: issues.filter(isPayloadIssue) }),
  };
}

/** Reads the fields that a failure and an error behind it have in common. */
function toCause(stored: unknown, depth = 0): FailureCause | undefined {
  if (!isPlainObject(stored) || depth > MAX_CAUSES) return undefined;
  const { name, message, code, cause, errors } = stored;
  if (typeof name !== 'string' || typeof message !== 'string') return undefined;
  const behind = toCause(cause, depth + 1);
  const parts = Array.isArray(errors) ? errors.flatMap((each) => toCause(each, depth + 1) ?? []) : [];
  return {
    name,
    message,
    ...(typeof code === 'string' && { code }),
    ...(behind && { cause: behind }),
    ...(parts.length > 0 && { errors: parts }),
  };
}

function isReason(value: unknown): value is FailureReason {
  return FAILURE_REASONS.includes(value as FailureReason);
}

/** Returns the attempt, or nothing if it is damaged. */
function toAttempts(stored: unknown): FailedAttempt[] {
  if (!isPlainObject(stored)) return [];
  const { at, attempt, name, message, duration } = stored;
  const isAttempt =
    isWithin(at, -MAX_TIME, MAX_TIME) &&
    Number.isFinite(attempt) &&
    typeof name === 'string' &&
    typeof message === 'string' &&
    Number.isFinite(duration);
  if (!isAttempt) return [];
  return [{ at: new Date(at), attempt: attempt as number, name, message, duration: duration as number }];
}

function encodeAttempt({ at, ...rest }: FailedAttempt): string {
  const fields = JSON.stringify({ at: at.getTime(), ...rest }).slice(1, -1);
  return `{${fields.replaceAll('{', '\\u007b').replaceAll('}', '\\u007d')}}`;
}
