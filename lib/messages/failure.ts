import { isError } from '../checks/kinds.js';
import { describe } from '../checks/describe.js';
import type { InvalidPayloadError } from '../errors/publishing.errors.js';
import { type PayloadIssue, toPayloadIssues } from '../checks/payload-issues.js';

/**
 * A failed attempt as kept in the history of its message.
 *
 * @publicApi
 */
export interface FailedAttempt {
  /** Time of the failure, by the process's estimate of the Redis server's clock. */
  readonly at: Date;
  /** Number of the attempt, 1 for the first. Counting starts anew when a dead letter is requeued. */
  readonly attempt: number;
  /** Name of the error's class. */
  readonly name: string;
  /** Message of the error with that of its cause, at most 200 characters. */
  readonly message: string;
  /** Run time of the handler, in milliseconds. */
  readonly duration: number;
}

/** Most failed attempts that are kept of a message, the latest ones. `lua/modules/history.lua` has the same number. */
export const MAX_HISTORY = 10;

const MAX_KEPT_NAME_LENGTH = 100;
const MAX_KEPT_MESSAGE_LENGTH = 200;

export function toFailedAttempt(
  failure: Failure,
  { at, attempt, duration }: { readonly at: number; readonly attempt: number; readonly duration: number },
): FailedAttempt {
  return {
    at: new Date(Math.floor(at)),
    attempt,
    name: failure.name.slice(0, MAX_KEPT_NAME_LENGTH),
    message: messageOf(failure).slice(0, MAX_KEPT_MESSAGE_LENGTH),
    duration: Math.round(duration),
  };
}

/**
 * Reason why a message is a dead letter, or why its last attempt failed.
 *
 * @publicApi
 */
export type FailureReason =
  /** The handler threw, or timed out, on the last attempt. */
  | 'failed'
  /** The handler threw an `UnrecoverableError`. */
  | 'unrecoverable'
  /** The last attempt ended with its process: it crashed or lost its lease. */
  | 'crashed'
  /** It was not delivered within `expireAfter` of its due time. */
  | 'expired'
  /** The stored payload does not match the schema of its topic. */
  | 'invalid'
  /** The stored record cannot be decoded, or Redis refuses to settle it; it is kept unchanged. */
  | 'undecodable';

const REASONS: Readonly<Record<FailureReason, true>> = {
  failed: true,
  unrecoverable: true,
  crashed: true,
  expired: true,
  invalid: true,
  undecodable: true,
};

export const FAILURE_REASONS = Object.keys(REASONS) as readonly FailureReason[];

/**
 * A failure as kept with its message.
 *
 * @publicApi
 */
export interface Failure {
  /** Reason why it is dead, or why the attempt failed. */
  readonly reason: FailureReason;
  /** Name of the error's class. */
  readonly name: string;
  /** The error's message, at most 4,096 characters. */
  readonly message: string;
  /** The error's code, if it has one. */
  readonly code?: string;
  /** The error's stack, at most 4,096 characters. */
  readonly stack?: string;
  /** The error's `cause`. */
  readonly cause?: FailureCause;
  /** The errors that it consists of, as an `AggregateError` does; the first 5. */
  readonly errors?: readonly FailureCause[];
  /** With `'crashed'`: failure of an earlier attempt, if there was one. */
  readonly lastError?: Failure;
  /** Issues that the schema found, if the reason is `'invalid'`; the first 10. */
  readonly issues?: readonly PayloadIssue[];
}

/**
 * An error behind another one, as kept: at most 5 deep, messages cut at 500 characters.
 *
 * @publicApi
 */
export interface FailureCause {
  /** Name of the error's class. */
  readonly name: string;
  /** The error's message. */
  readonly message: string;
  /** The error's code, if it has one. */
  readonly code?: string;
  /** That error's own cause. */
  readonly cause?: FailureCause;
  /** The errors that it consists of, as an `AggregateError` does. */
  readonly errors?: readonly FailureCause[];
}

/** Depth to which causes are kept, and most kept errors of an `AggregateError`. */
export const MAX_CAUSES = 5;

/** Most errors that are kept behind one failure: each of several may have several. */
const MAX_BEHIND = 10;

/** Longest text kept of a cause's message, in characters. */
const MAX_CAUSE_LENGTH = 500;

/** Longest text kept of an error's message and of its stack, in characters. */
const MAX_TEXT_LENGTH = 4096;

/** Longest text kept of an error's name and of its code, in characters. */
const MAX_NAME_LENGTH = 200;

/** Converts any error to a failure; never throws. */
export function toFailure(reason: FailureReason, error: unknown): Failure {
  try {
    if (!isError(error)) return { reason, name: typeof error, message: describe(error) };
    const { stack } = error as { stack?: unknown };
    return {
      reason,
      ...textOf(error, MAX_TEXT_LENGTH),
      ...(typeof stack === 'string' && { stack: stack.slice(0, MAX_TEXT_LENGTH) }),
      ...new Causes().behind(error, 1),
    };
  } catch (fault) {
    return { reason, name: 'Error', message: `An error that cannot be read: ${describe(fault)}` };
  }
}

export function toInvalidFailure(error: InvalidPayloadError): Failure {
  // A schema may throw an error of another version of this package.
  return {
    ...toFailure('invalid', error),
    ...(Array.isArray(error.issues) && { issues: toPayloadIssues(error.issues) }),
  };
}

/**
 * Returns a text such as `TypeError: fetch failed (connect ECONNREFUSED 127.0.0.1:443)`: with the cause, which is all that some errors
 * tell.
 */
export function summaryOf(failure: Pick<Failure, 'name' | 'message' | 'cause' | 'errors'>): string {
  return `${failure.name}: ${messageOf(failure)}`;
}

/** Returns the same without the name. */
export function messageOf({ message, cause, errors }: Pick<Failure, 'message' | 'cause' | 'errors'>): string {
  const behind = cause ?? errors?.[0];
  if (!behind) return message;
  const why = messageOf(behind) || behind.code || behind.name;
  return message === '' ? why : `${message} (${why})`;
}

/** Collects the errors behind an error: there can be many, and causes can form a cycle. */
class Causes {
  readonly #seen = new Set<unknown>();

  behind(error: Error, depth: number): Pick<Failure, 'cause' | 'errors'> {
    this.#seen.add(error);
    if (depth > MAX_CAUSES) return {};
    const { cause, errors } = error as { cause?: unknown; errors?: unknown };
    const kept = cause === undefined || cause === null ? undefined : this.#keep(cause, depth);
    const parts = Array.isArray(errors)
      ? errors.slice(0, MAX_CAUSES).flatMap((each) => this.#keep(each, depth) ?? [])
      : [];
    return { ...(kept && { cause: kept }), ...(parts.length > 0 && { errors: parts }) };
  }

  #keep(error: unknown, depth: number): FailureCause | undefined {
    if (this.#seen.has(error) || this.#seen.size > MAX_BEHIND) return undefined;
    if (!isError(error)) return { name: typeof error, message: describe(error) };
    return { ...textOf(error, MAX_CAUSE_LENGTH), ...this.behind(error, depth + 1) };
  }
}

function textOf(error: Error, length: number): Pick<Failure, 'name' | 'message' | 'code'> {
  const { name, message, code } = error as { [K in keyof NodeJS.ErrnoException]: unknown };
  return {
    name: String(name).slice(0, MAX_NAME_LENGTH),
    message: String(message).slice(0, length),
    ...(typeof code === 'string' && { code: code.slice(0, MAX_NAME_LENGTH) }),
  };
}
