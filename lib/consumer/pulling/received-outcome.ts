import { isError, isPlainObject } from '../../checks/kinds.js';
import { describe } from '../../checks/describe.js';
import { MAX_DELAY } from '../../checks/limits.js';
import { type Rules, applyRules, asGiven, duration, oneOf, orElse } from '../../checks/rules.js';
import { RetryLaterError, UnrecoverableError } from '../../errors/handling.errors.js';
import { InvalidArgumentError } from '../../errors/options.errors.js';
import type { ActiveBackoff } from '../../fleet/topic-settings.interface.js';
import { OPERATION, type Repeatable } from '../../messages/operation.js';
import { type Duration, describeDuration } from '../../time/duration.js';
import { ACKED, type AttemptNumber, RELEASED, type Verdict, failed, failedAttempt } from '../delivery/verdict.js';

/**
 * Outcome of a received message. `'retry'`: the attempt has failed; the message comes again after `delay`, by default after its backoff, or
 * becomes a dead letter if it was the last attempt. `'dead'`: a dead letter at once. `'release'`: given back, at once or after `delay`,
 * without spending the attempt. `reason` is an error or a text.
 *
 * @publicApi
 */
export type ReceivedOutcome =
  | 'ack'
  | 'retry'
  | 'dead'
  | 'release'
  | { readonly outcome: 'ack' }
  | { readonly outcome: 'release'; readonly delay?: Duration | undefined }
  | { readonly outcome: 'retry'; readonly delay?: Duration | undefined; readonly reason?: unknown }
  | { readonly outcome: 'dead'; readonly reason?: unknown };

const OUTCOMES = ['ack', 'retry', 'dead', 'release'] as const satisfies readonly ReceivedOutcome[];

export interface CheckedOutcome {
  readonly outcome: (typeof OUTCOMES)[number];
  /** Delay in milliseconds. */
  readonly delay: number | undefined;
  readonly reason: unknown;
  /** Name of the settle, if it can be repeated. */
  readonly operation: string | undefined;
}

const RULES = {
  outcome: oneOf(...OUTCOMES),
  delay: orElse(duration(0, MAX_DELAY), undefined),
  reason: asGiven<unknown>,
} satisfies Rules<Extract<ReceivedOutcome, { readonly outcome: 'retry' }>>;

/** @throws InvalidArgumentError */
export function checkedOutcome(given: ReceivedOutcome): CheckedOutcome {
  if (typeof given !== 'string' && !isPlainObject(given)) {
    throw new InvalidArgumentError(
      `An outcome must be one of ${OUTCOMES.map((one) => `'${one}'`).join(', ')}, or an object with it as its outcome. ` +
        `Given: ${describe(given)}.`,
    );
  }
  const checked = applyRules(RULES, 'An outcome', typeof given === 'string' ? { outcome: given } : given, '');
  const { outcome, delay, reason } = checked;
  if (delay !== undefined && outcome !== 'retry' && outcome !== 'release') {
    throw new InvalidArgumentError(`A delay goes with the outcomes 'retry' and 'release', not with '${outcome}'.`);
  }
  if (reason !== undefined && outcome !== 'retry' && outcome !== 'dead') {
    throw new InvalidArgumentError(`A reason goes with the outcomes 'retry' and 'dead', not with '${outcome}'.`);
  }
  return { ...checked, operation: typeof given === 'string' ? undefined : (given as Repeatable)[OPERATION] };
}

/**
 * Returns the verdict for an outcome.
 *
 * @param backoff backoff for a retry that names no delay
 * @param run time of the settle, in epoch milliseconds on the broker's clock, and time since the message was received, in milliseconds
 */
export function verdictOf(
  { outcome, delay, reason }: CheckedOutcome,
  number: AttemptNumber,
  backoff: ActiveBackoff,
  run: { readonly at: number; readonly duration: number },
): Verdict {
  if (outcome === 'ack') return ACKED;
  if (outcome === 'release') return delay === undefined ? RELEASED : failed(putOffBy(delay), number, backoff);
  if (outcome === 'dead') {
    if (reason instanceof UnrecoverableError) return failedAttempt(reason, number, backoff, run);
    const cause = isError(reason) ? { cause: reason } : {};
    return failedAttempt(saidBy(reason, new UnrecoverableError(textOf(reason), cause)), number, backoff, run);
  }
  const wanted = delay === undefined ? backoff : { delay, factor: 1, maxDelay: delay, jitter: 0 };
  const error = isError(reason) ? reason : saidBy(reason, new Error(textOf(reason)));
  return failedAttempt(error, number, wanted, run);
}

/** Returns the error that a handler would throw for this. */
function putOffBy(delay: number): RetryLaterError {
  return new RetryLaterError(delay, `Whoever has received the message has released it for ${describeDuration(delay)}.`);
}

/** Replaces the error's stack: the place where this library creates it says nothing. */
function saidBy(reason: unknown, error: Error): Error {
  Object.defineProperty(error, 'stack', { value: isError(reason) ? reason.stack : undefined });
  return error;
}

function textOf(reason: unknown): string {
  if (reason === undefined) return 'Whoever has received the message gave no reason.';
  if (isError(reason)) return reason.message;
  return typeof reason === 'string' ? reason : describe(reason);
}
