import { type Duration, parseDuration } from '../time/duration.js';
import { describe } from '../checks/describe.js';
import { assertOneOf, assertOptions, isWithin } from '../checks/validate.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { MAX_DELAY } from '../checks/limits.js';

/**
 * A backoff that can be stored with a message.
 *
 * @publicApi
 */
export type StoredBackoff =
  | { type: 'fixed'; delay: Duration }
  | {
      type: 'exponential';
      /** Wait before the second attempt. */
      delay: Duration;
      /** The wait is multiplied by this each time; 1 to 10. @defaultValue 2 */
      factor?: number;
      /** Longest wait. @defaultValue '5m' */
      maxDelay?: Duration;
      /** Share of the wait, 0 to 1, up to which a random amount is added, so that failures spread. @defaultValue 0 */
      jitter?: number;
    };

/**
 * How long to wait before the next attempt. The function is called with the attempt that failed (1 for the first) and
 * its error; it can be given to a handler or a topic, but not to a message, since it cannot be stored.
 *
 * @publicApi
 */
export type Backoff = StoredBackoff | ((attempt: number, error: unknown) => Duration);

/** A {@link StoredBackoff} with its defaults filled in; all times in milliseconds. */
export interface ResolvedBackoff {
  readonly delay: number;
  readonly factor: number;
  readonly maxDelay: number;
  readonly jitter: number;
}

/** `[delay, factor, maxDelay, jitter]`, as an envelope holds it. */
export type EncodedBackoff = readonly [delay: number, factor: number, maxDelay: number, jitter: number];

const DEFAULT_MAX_DELAY = 5 * 60_000;
const MAX_FACTOR = 10;

/** 1 s, doubled each time, at most 5 min, with up to 20 % on top. */
export const DEFAULT_BACKOFF: ResolvedBackoff = { delay: 1000, factor: 2, maxDelay: DEFAULT_MAX_DELAY, jitter: 0.2 };

/** @throws InvalidArgumentError if it is not a backoff that can be stored */
export function resolveStoredBackoff(name: string, backoff: StoredBackoff): ResolvedBackoff {
  if (typeof backoff === 'function') {
    throw new InvalidArgumentError(
      `${name} of a message must be { type: 'fixed' | 'exponential', … }: a function cannot be stored. ` +
        `Give the function to the handler or the topic instead.`,
    );
  }
  assertOptions(name, backoff, ['type', 'delay', 'factor', 'maxDelay', 'jitter']);
  assertOneOf(`${name}.type`, backoff.type, ['fixed', 'exponential']);
  const delay = parseDuration(`${name}.delay`, backoff.delay, { max: MAX_DELAY });
  if (backoff.type === 'fixed') {
    assertOptions(`A fixed ${name}`, backoff, ['type', 'delay']);
    return { delay, factor: 1, maxDelay: delay, jitter: 0 };
  }
  const { factor = 2, maxDelay = Math.max(DEFAULT_MAX_DELAY, delay), jitter = 0 } = backoff;
  assertNumber(`${name}.factor`, factor, 1, MAX_FACTOR);
  assertNumber(`${name}.jitter`, jitter, 0, 1);
  return {
    delay,
    factor,
    maxDelay: parseDuration(`${name}.maxDelay`, maxDelay, { min: delay, max: MAX_DELAY }),
    jitter,
  };
}

/**
 * Milliseconds to wait after `attempt` (1 for the first) has failed.
 *
 * @param random a number from 0 up to 1, for the jitter
 */
export function backoffDelay(backoff: ResolvedBackoff, attempt: number, random = Math.random()): number {
  // Zero times infinity is not a number.
  const grown = backoff.delay === 0 ? 0 : backoff.delay * backoff.factor ** (attempt - 1);
  const wait = Math.min(grown, backoff.maxDelay);
  return Math.ceil(wait * (1 + backoff.jitter * random));
}

export function encodeBackoff({ delay, factor, maxDelay, jitter }: ResolvedBackoff): EncodedBackoff {
  return [delay, factor, maxDelay, jitter];
}

/** @returns `undefined` if {@link encodeBackoff} did not write it, or if it is out of bounds */
export function decodeBackoff(stored: unknown): ResolvedBackoff | undefined {
  if (!Array.isArray(stored) || stored.length !== 4) return undefined;
  const [delay, factor, maxDelay, jitter] = stored as unknown[];
  const isBackoff =
    isWithin(delay, 0, MAX_DELAY) &&
    isWithin(factor, 1, MAX_FACTOR) &&
    isWithin(maxDelay, delay, MAX_DELAY) &&
    isWithin(jitter, 0, 1);
  return isBackoff ? { delay, factor, maxDelay, jitter } : undefined;
}

function assertNumber(name: string, value: number, min: number, max: number): void {
  if (!isWithin(value, min, max)) {
    throw new InvalidArgumentError(`${name} must be a number from ${min} to ${max}. Given: ${describe(value)}.`);
  }
}
