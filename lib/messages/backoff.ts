import type { Duration } from '../time/duration.js';
import { describe } from '../checks/describe.js';
import {
  type AnyRules,
  type Rule,
  declared,
  described,
  duration,
  listOf,
  named,
  number,
  objectOf,
  option,
  orElse,
} from '../checks/rules.js';
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
      /** Factor by which the wait grows each time; 1 to 10. @defaultValue 2 */
      factor?: number;
      /** Longest wait. @defaultValue '5m' */
      maxDelay?: Duration;
      /** Share of the wait, 0 to 1, up to which a random amount is added, so that failures spread. @defaultValue 0 */
      jitter?: number;
    }
  | {
      type: 'steps';
      /** Waits before the second attempt, the third, and so on, 1 to 100 of them; the last one repeats. */
      delays: readonly Duration[];
      /** Same as for an exponential backoff. @defaultValue 0 */
      jitter?: number;
    };

/**
 * Wait before the next attempt. A function is called with the failed attempt (1 for the first) and its error; it can be given to a handler
 * or a topic, but not to a message, since it cannot be stored.
 *
 * @publicApi
 */
export type Backoff = StoredBackoff | ((attempt: number, error: unknown) => Duration);

/** A {@link StoredBackoff} with its defaults filled in; all times in milliseconds. A fixed one grows by the factor 1. */
export type ResolvedBackoff =
  | { readonly delay: number; readonly factor: number; readonly maxDelay: number; readonly jitter: number }
  | { readonly delays: readonly number[]; readonly jitter: number };

type GrowingBackoff = Extract<ResolvedBackoff, { readonly delay: number }>;
type SteppedBackoff = Extract<ResolvedBackoff, { readonly delays: unknown }>;

/** A backoff as stored in an envelope. */
export type EncodedBackoff =
  | readonly [delay: number, factor: number, maxDelay: number, jitter: number]
  | readonly [delays: readonly number[], jitter: number];

const DEFAULT_MAX_DELAY = 5 * 60_000;
const MAX_FACTOR = 10;

/** Most waits of a stepped backoff: they are stored with each message that has one. */
const MAX_STEPS = 100;

/** 1 s, doubled each time, at most 5 min, with up to 20 % on top. */
export const DEFAULT_BACKOFF: GrowingBackoff = { delay: 1000, factor: 2, maxDelay: DEFAULT_MAX_DELAY, jitter: 0.2 };

/** @throws InvalidArgumentError if it is not a backoff that can be stored */
export function resolveStoredBackoff(name: string, backoff: StoredBackoff): ResolvedBackoff {
  if (typeof backoff === 'function') {
    throw new InvalidArgumentError(
      `${name} of a message must be { type: 'fixed' | 'exponential' | 'steps', … }: a function cannot be stored. ` +
        `Give the function to the handler or the topic instead.`,
    );
  }
  if (typeof backoff !== 'object') {
    throw new InvalidArgumentError(
      `${name} must be an object, such as { type: 'exponential', delay: '1s' }. Given: ${describe(backoff)}.`,
    );
  }
  assertOptions(name, backoff, ['type', 'delay', 'factor', 'maxDelay', 'delays', 'jitter']);
  assertOneOf(`${name}.type`, backoff.type, ['fixed', 'exponential', 'steps']);
  if (backoff.type === 'fixed') {
    const { delay } = FIXED(`A fixed ${name}`, backoff, `${name}.`);
    return { delay, factor: 1, maxDelay: delay, jitter: 0 };
  }
  if (backoff.type === 'steps') {
    const { delays, jitter } = STEPS(`The ${name} in steps`, backoff, `${name}.`);
    return { delays, jitter };
  }
  const used = EXPONENTIAL(`An exponential ${name}`, backoff, `${name}.`);
  const { delay, factor, jitter, maxDelay = Math.max(DEFAULT_MAX_DELAY, delay) } = used;
  if (maxDelay < delay) duration(delay)(`${name}.maxDelay`, backoff.maxDelay);
  return { delay, factor, maxDelay, jitter };
}

/** Returns the rule for one kind of backoff, whose type has been checked. */
function kindOf<R extends AnyRules>(type: StoredBackoff['type'], rules: R) {
  return objectOf({
    type: declared({ type: 'string', const: type, description: 'Which kind it is.' }, (_, given: unknown) => given),
    ...rules,
  });
}

const DELAY = duration(0);
const JITTER = described(
  'Share of the wait up to which a random amount is added; 0 if it is left out.',
  orElse(number(0, 1), 0),
);

const FIXED = kindOf('fixed', { delay: described('The wait before each attempt.', DELAY) });

const EXPONENTIAL = kindOf('exponential', {
  delay: described('The wait before the second attempt.', DELAY),
  factor: described('Multiplies the wait each time; 2 if it is left out.', orElse(number(1, MAX_FACTOR), 2)),
  maxDelay: option('Longest wait; 5 minutes if it is left out.', DELAY),
  jitter: JITTER,
});

const STEPS = kindOf('steps', {
  delays: described(
    'The waits before the second attempt, the third, and so on; the last one repeats.',
    listOf(DELAY, { of: 'durations, of which the last one repeats', min: 1, max: MAX_STEPS }),
  ),
  jitter: JITTER,
});

/** Rule for a message's backoff. */
export const STORED_BACKOFF: Rule<StoredBackoff, ResolvedBackoff> = declared(
  named('Backoff', {
    oneOf: [FIXED.schema, EXPONENTIAL.schema, STEPS.schema],
    type: 'object',
    description: 'How long to wait before the next attempt.',
  }),
  resolveStoredBackoff,
);

/**
 * Returns the milliseconds to wait after `attempt` (1 for the first) has failed.
 *
 * @param random a number from 0 up to 1, for the jitter
 */
export function backoffDelay(backoff: ResolvedBackoff, attempt: number, random = Math.random()): number {
  const wait = 'delays' in backoff ? stepOf(backoff, attempt) : grownDelay(backoff, attempt);
  return Math.ceil(wait * (1 + backoff.jitter * random));
}

function stepOf({ delays }: SteppedBackoff, attempt: number): number {
  return delays[attempt - 1] ?? (delays.at(-1) as number);
}

function grownDelay({ delay, factor, maxDelay }: GrowingBackoff, attempt: number): number {
  // Zero times infinity is NaN.
  const grown = delay === 0 ? 0 : delay * factor ** (attempt - 1);
  return Math.min(grown, maxDelay);
}

/** Returns a backoff in the form that `publish()` takes. */
export function toStoredBackoff(backoff: ResolvedBackoff): StoredBackoff {
  if ('delays' in backoff) return { type: 'steps', ...backoff };
  const isFixed = backoff.factor === 1 && backoff.jitter === 0;
  return isFixed ? { type: 'fixed', delay: backoff.delay } : { type: 'exponential', ...backoff };
}

export function encodeBackoff(backoff: ResolvedBackoff): EncodedBackoff {
  if ('delays' in backoff) return [backoff.delays, backoff.jitter];
  const { delay, factor, maxDelay, jitter } = backoff;
  return [delay, factor, maxDelay, jitter];
}

/** @returns `undefined` if {@link encodeBackoff} did not write it, or if it is out of bounds */
export function decodeBackoff(stored: unknown): ResolvedBackoff | undefined {
  if (!Array.isArray(stored)) return undefined;
  if (stored.length === 2) return decodeSteps(stored);
  if (stored.length !== 4) return undefined;
  const [delay, factor, maxDelay, jitter] = stored as unknown[];
  const isBackoff =
    isWithin(delay, 0, MAX_DELAY) &&
    isWithin(factor, 1, MAX_FACTOR) &&
    isWithin(maxDelay, delay, MAX_DELAY) &&
    isWithin(jitter, 0, 1);
  return isBackoff ? { delay, factor, maxDelay, jitter } : undefined;
}

function decodeSteps([delays, jitter]: readonly unknown[]): SteppedBackoff | undefined {
  if (!Array.isArray(delays) || !isWithin(delays.length, 1, MAX_STEPS) || !isWithin(jitter, 0, 1)) return undefined;
  return delays.every((delay) => isWithin(delay, 0, MAX_DELAY)) ? { delays, jitter } : undefined;
}
