import { describe } from '../checks/describe.js';
import type { InvalidPayloadError } from '../errors/publishing.errors.js';
import { type PayloadIssue, toPayloadIssues } from '../checks/payload-issues.js';

/**
 * Why a message is a dead letter, or why its last attempt failed.
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
  /** What is stored does not fit the schema of its topic. */
  | 'invalid'
  /** The stored record cannot be decoded, or Redis refuses to settle it; it is kept as it is. */
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
 * A failure as it is kept with its message.
 *
 * @publicApi
 */
export interface Failure {
  readonly reason: FailureReason;
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
  /** Why the attempt before failed, if the last one ended without an error of its own. */
  readonly lastError?: Failure;
  /** What the schema found wrong, if the reason is `'invalid'`; the first 10. */
  readonly issues?: readonly PayloadIssue[];
}

/** Longest text kept of an error's message and of its stack, in characters. */
const MAX_TEXT_LENGTH = 4096;

/** Longest text kept of an error's name and of its code, in characters. */
const MAX_NAME_LENGTH = 200;

/** Never throws, whatever the error is. */
export function toFailure(reason: FailureReason, error: unknown): Failure {
  try {
    if (!(error instanceof Error)) return { reason, name: typeof error, message: describe(error) };
    return { reason, ...textOf(error) };
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

function textOf(error: Error): Omit<Failure, 'reason'> {
  const { name, message, stack, code } = error as { [K in keyof NodeJS.ErrnoException]: unknown };
  return {
    name: String(name).slice(0, MAX_NAME_LENGTH),
    message: String(message).slice(0, MAX_TEXT_LENGTH),
    ...(typeof code === 'string' && { code: code.slice(0, MAX_NAME_LENGTH) }),
    ...(typeof stack === 'string' && { stack: stack.slice(0, MAX_TEXT_LENGTH) }),
  };
}
