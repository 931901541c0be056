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

/** What becomes of a delivery. */
export interface Verdict {
  readonly outcome: Outcome;
  /** What the handler threw. */
  readonly error?: unknown;
  /** Attempts that are left after this one; of no meaning if nothing was thrown. */
  readonly attemptsLeft?: number;
}

/** What makes a dead letter. */
export type DeadOutcome = Extract<Outcome, { readonly kind: 'dead' }>;

/** Which attempt of a message has failed, and how many it has. */
export interface AttemptNumber {
  readonly attempt: number;
  readonly maxAttempts: number;
}

export const ACKED: Verdict = { outcome: { kind: 'ack' } };

/** Back at once, as if it had not been delivered. */
export const RELEASED: Verdict = { outcome: { kind: 'release' } };

/**
 * The same verdict on a delivery whose handler was not called, so that it does not count against the rate of its key.
 *
 * @param grantedAt as the claim has answered it
 */
export function notCalled(verdict: Verdict, grantedAt: number): Verdict {
  const { outcome } = verdict;
  const isUnspent = outcome.kind === 'release' || (outcome.kind === 'dead' && outcome.spent === false);
  return isUnspent ? { ...verdict, outcome: { ...outcome, grantedAt } } : verdict;
}

/** A dead letter without a call of the handler, which spends no attempt. */
export function dead(failure: Failure): Verdict {
  return { outcome: { kind: 'dead', failure, spent: false } };
}

/** What follows from an error before the handler was called. */
export function failed(error: unknown, number: AttemptNumber, backoff: ActiveBackoff): Verdict {
  const outcome = outcomeOf(error, number, backoff);
  if (!('failure' in outcome)) return { error, outcome };
  return { error, attemptsLeft: number.maxAttempts - number.attempt, outcome };
}

/**
 * What follows from an error of the handler; the attempt goes into the message's history.
 *
 * @param run when it failed, in epoch milliseconds on the broker's clock, and how long the handler ran, in milliseconds
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

/** What follows from a handler's error. */
export function outcomeOf(error: unknown, { attempt, maxAttempts }: AttemptNumber, backoff: ActiveBackoff): Outcome {
  if (error instanceof RetryLaterError) {
    return { kind: 'put-off', delay: putOff(error, backoff, attempt), ...scopeOf(error) };
  }
  if (error instanceof UnrecoverableError) return { kind: 'dead', failure: toFailure('unrecoverable', error) };
  const failure = toFailure('failed', error);
  if (attempt >= maxAttempts) return { kind: 'dead', failure };
  return { kind: 'retry', delay: retryDelay(backoff, attempt, error), failure };
}

/** What else is put off. */
function scopeOf(error: RetryLaterError): { scope?: RateLimitScope } {
  if (!(error instanceof RateLimitedError)) return {};
  return { scope: RATE_LIMIT_SCOPES.find((one) => one === error.scope) ?? 'topic' };
}

/** An error of another version of this package need not have the same fields; that it spends no attempt stays true. */
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
    // A backoff function that fails must not cost the message its retry; the handler's own error is what is kept.
    return backoffDelay(DEFAULT_BACKOFF, attempt);
  }
}
