import type { Outcome } from '../../store/deliveries/settle.js';
import { MAX_DELAY } from '../../checks/limits.js';
import {
  RATE_LIMIT_SCOPES,
  type RateLimitScope,
  RateLimitedError,
  RetryLaterError,
  UnrecoverableError,
} from '../../errors/handling.errors.js';
import { DEFAULT_BACKOFF, backoffDelay } from '../../messages/backoff.js';
import { type Failure, toFailedAttempt, toFailure } from '../../messages/failure.js';
import { parseDuration } from '../../time/duration.js';
import type { ActiveBackoff } from '../../fleet/topic-settings.interface.js';

/** Decision about a delivery. */
export interface Verdict {
  readonly outcome: Outcome;
  /** Error that the handler threw. */
  readonly error?: unknown;
  /** Number of attempts left after this one; meaningless if nothing was thrown. */
  readonly attemptsLeft?: number;
}

export type DeadOutcome = Extract<Outcome, { readonly kind: 'dead' }>;

/** Number of the failed attempt, and the most attempts of the message. */
export interface AttemptNumber {
  readonly attempt: number;
  readonly maxAttempts: number;
}

export const ACKED: Verdict = { outcome: { kind: 'ack' } };

/** Gives the message back at once, as if it had not been delivered. */
export const RELEASED: Verdict = { outcome: { kind: 'release' } };

/**
 * Returns the same verdict for a delivery whose handler was not called, so that it does not count against the rate of its key.
 *
 * @param grantedAt time from the answer to the claim
 */
export function notCalled(verdict: Verdict, grantedAt: number): Verdict {
  const { outcome } = verdict;
  const isUnspent = outcome.kind === 'release' || (outcome.kind === 'dead' && outcome.spent === false);
  return isUnspent ? { ...verdict, outcome: { ...outcome, grantedAt } } : verdict;
}

/** Returns the verdict for a dead letter without a call of the handler, which spends no attempt. */
export function dead(failure: Failure): Verdict {
  return { outcome: { kind: 'dead', failure, spent: false } };
}

/** Returns the verdict for an error before the handler was called. */
export function failed(error: unknown, number: AttemptNumber, backoff: ActiveBackoff): Verdict {
  const outcome = outcomeOf(error, number, backoff);
  if (!('failure' in outcome)) return { error, outcome };
  return { error, attemptsLeft: number.maxAttempts - number.attempt, outcome };
}

/**
 * Returns the verdict for an error of the handler; the attempt goes into the message's history.
 *
 * @param run time of the failure, in epoch milliseconds on the broker's clock, and run time of the handler, in milliseconds
 */
export function failedAttempt(
  error: unknown,
  number: AttemptNumber,
  backoff: ActiveBackoff,
  run: { readonly at: number; readonly duration: number },
): Verdict {
  const verdict = failed(error, number, backoff);
  const { outcome } = verdict;
  if (!('failure' in outcome)) return verdict;
  const attempt = toFailedAttempt(outcome.failure, { ...run, attempt: number.attempt });
  return { ...verdict, outcome: { ...outcome, failedAttempt: attempt } };
}

/** Returns the outcome for a handler's error. */
export function outcomeOf(error: unknown, { attempt, maxAttempts }: AttemptNumber, backoff: ActiveBackoff): Outcome {
  if (error instanceof RetryLaterError) {
    return { kind: 'put-off', delay: putOff(error, backoff, attempt), ...scopeOf(error) };
  }
  if (error instanceof UnrecoverableError) return { kind: 'dead', failure: toFailure('unrecoverable', error) };
  const failure = toFailure('failed', error);
  if (attempt >= maxAttempts) return { kind: 'dead', failure };
  return { kind: 'retry', delay: retryDelay(backoff, attempt, error), failure };
}

function scopeOf(error: RetryLaterError): { scope?: RateLimitScope } {
  if (!(error instanceof RateLimitedError)) return {};
  return { scope: RATE_LIMIT_SCOPES.find((one) => one === error.scope) ?? 'topic' };
}

/** An error of another version of this package can have other fields; it still spends no attempt. */
function putOff(error: RetryLaterError, backoff: ActiveBackoff, attempt: number): number {
  try {
    return parseDuration('delay', error.delay, { max: MAX_DELAY });
  } catch {
    return retryDelay(backoff, attempt, error);
  }
}

function retryDelay(backoff: ActiveBackoff, attempt: number, error: unknown): number {
  if (typeof backoff !== 'function') return backoffDelay(backoff, attempt);
  try {
    return parseDuration('The result of the backoff function', backoff(attempt, error), { max: MAX_DELAY });
  } catch {
    // A backoff function that fails must not cost the message its retry; the handler's own error is kept.
    return backoffDelay(DEFAULT_BACKOFF, attempt);
  }
}
