import type { Outcome } from '../broker/broker.interface.js';
import { parseDuration } from '../time/duration.js';
import { RetryLaterError, UnrecoverableError } from '../errors/handling.errors.js';
import { DEFAULT_BACKOFF, backoffDelay } from '../messages/backoff.js';
import { toFailure } from '../messages/failure.js';
import { MAX_DELAY } from '../checks/limits.js';
import type { ActiveBackoff } from '../topics/topic-settings.interface.js';

/** What follows from a handler's error. */
export function outcomeOf(
  error: unknown,
  { attempt, maxAttempts }: { readonly attempt: number; readonly maxAttempts: number },
  backoff: ActiveBackoff,
): Outcome {
  if (error instanceof RetryLaterError) return { kind: 'put-off', delay: putOff(error, backoff, attempt) };
  if (error instanceof UnrecoverableError) return { kind: 'dead', failure: toFailure('unrecoverable', error) };
  const failure = toFailure('failed', error);
  if (attempt >= maxAttempts) return { kind: 'dead', failure };
  return { kind: 'retry', delay: retryDelay(backoff, attempt, error), failure };
}

/** An error of another version of this package need not have the fields of this one's; that it spends no attempt stays true. */
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
