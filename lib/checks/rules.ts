import { InvalidArgumentError } from '../errors/options.errors.js';
import { parseDuration } from '../time/duration.js';
import { describe } from './describe.js';
import { isAbortSignal } from './kinds.js';
import { MAX_DELAY } from './limits.js';
import { assertBoolean, assertInteger, assertOneOf, assertOptions } from './validate.js';

/**
 * Checks an option, and answers what is used of it.
 *
 * @throws InvalidArgumentError that calls the option by its name
 */
export type Rule<Given, Used> = (name: string, given: Given) => Used;

/** A rule for every option of an object; the compiler misses one that was forgotten. */
export type Rules<Options extends object> = {
  readonly [Option in keyof Options]-?: Rule<Options[Option] | undefined, unknown>;
};

type AnyRules = Readonly<Record<string, Rule<never, unknown>>>;

/**
 * Applies the rules of an object's options. An option without a rule is unknown.
 *
 * @param name of the object, such as `consumer` or `The module options`
 * @param path what stands before the names of options in errors
 * @throws InvalidArgumentError
 */
export function applyRules<R extends AnyRules>(
  rules: R,
  name: string,
  given: object,
  path = `${name}.`,
): { readonly [Option in keyof R]: ReturnType<R[Option]> } {
  assertOptions(name, given, Object.keys(rules));
  const values = given as Readonly<Record<string, never>>;
  const used = Object.entries(rules).map(([option, rule]) => [
    option,
    rule(`${path}${option}`, values[option] as never),
  ]);
  return Object.fromEntries(used) as { readonly [Option in keyof R]: ReturnType<R[Option]> };
}

/** The same rule for an option that can be left out. */
export function orElse<Given, Used, Otherwise>(
  rule: Rule<Given, Used>,
  otherwise: Otherwise,
): Rule<Given | undefined, Used | Otherwise> {
  return (name, given) => (given === undefined ? otherwise : rule(name, given));
}

export function integer(min: number, max = Number.MAX_SAFE_INTEGER): Rule<unknown, number> {
  return (name, given) => {
    assertInteger(name, given, { min, max });
    return given;
  };
}

export function oneOf<T extends string>(...allowed: readonly T[]): Rule<unknown, T> {
  return (name, given) => {
    assertOneOf(name, given, allowed);
    return given;
  };
}

export const trueOrFalse: Rule<unknown, boolean> = (name, given) => {
  assertBoolean(name, given);
  return given;
};

/** @param min in milliseconds, as `max` and what is used */
export function duration(min: number, max: number = MAX_DELAY): Rule<unknown, number> {
  return (name, given) => parseDuration(name, given, { min, max });
}

/** Without one nothing is ever aborted. */
export const abortSignal: Rule<unknown, AbortSignal> = (name, given = new AbortController().signal) => {
  if (isAbortSignal(given)) return given;
  throw new InvalidArgumentError(`${name} must be an AbortSignal. Given: ${describe(given)}.`);
};

/** For an option that is checked together with others. */
export function asGiven<T>(_: string, given: T): T {
  return given;
}
