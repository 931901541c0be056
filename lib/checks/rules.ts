import { InvalidArgumentError } from '../errors/options.errors.js';
import { parseDuration } from '../time/duration.js';
import { describe } from './describe.js';
import { isAbortSignal } from './kinds.js';
import { MAX_DELAY } from './limits.js';
import { assertBoolean, assertInteger, assertObject, assertOneOf, isWithin, unknownOption } from './validate.js';

/** JSON Schema, as in OpenAPI 3.1. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
  readonly description?: string;
}

/** Declaration of an option: checks it, and returns the value to use. */
export interface Rule<Given, Value> {
  /** @throws InvalidArgumentError that names the option */
  (name: string, given: Given): Value;
  /** Schema of the option in JSON; `undefined` if it is no option for other programs. */
  readonly schema?: JsonSchema | undefined;
  /** Whether it can be left out. @defaultValue false */
  readonly isOptional?: boolean | undefined;
  /** Rule that checks a given option, if this one only adds to it. */
  readonly inner?: Rule<never, unknown> | undefined;
}

/** Rules for every option of an object; the compiler reports a missing one. */
export type Rules<Options extends object> = {
  readonly [Option in keyof Options]-?: Rule<Options[Option] | undefined, unknown>;
};

export type AnyRules = Readonly<Record<string, Rule<never, unknown>>>;

/** Values used from an object's options. */
export type Used<R extends AnyRules> = { readonly [Option in keyof R]: ReturnType<R[Option]> };

/**
 * Applies the rules of an object's options once; objects that are checked often have their own {@link objectOf}.
 *
 * @param name the object's name, such as `consumer` or `The module options`
 * @param path prefix of the names of options in errors
 * @throws InvalidArgumentError
 */
export function applyRules<R extends AnyRules>(rules: R, name: string, given: object, path?: string): Used<R> {
  return objectOf(rules)(name, given, path);
}

/** @param schema what the option takes in JSON */
export function declared<Given, Value>(
  schema: JsonSchema,
  check: (name: string, given: Given) => Value,
  about: Pick<Rule<Given, Value>, 'isOptional' | 'inner'> = {},
): Rule<Given, Value> {
  return Object.assign(check, { schema, ...about });
}

/** Returns a reference to a schema that the gateway's document has once, under a name. */
export function named(name: string, schema: JsonSchema): JsonSchema {
  return { $ref: `#/components/schemas/${name}`, $defs: { [name]: schema } };
}

/** Returns the same rule for an option that can be left out. */
export function orElse<Given, Value, const Otherwise>(
  rule: Rule<Given, Value>,
  otherwise: Otherwise,
): Rule<Given | undefined, Value | Otherwise> {
  const check = (name: string, given: Given | undefined): Value | Otherwise =>
    given === undefined ? otherwise : rule(name, given);
  return Object.assign(check, { schema: rule.schema, isOptional: true, inner: rule });
}

export function optional<Given, Value>(rule: Rule<Given, Value>): Rule<Given | undefined, Value | undefined> {
  return orElse(rule, undefined);
}

/** @param meaning description for users of other languages or the command line */
export function described<Given, Value>(meaning: string, rule: Rule<Given, Value>): Rule<Given, Value> {
  const schema = { ...rule.schema, description: meaning };
  return declared(schema, (name, given: Given) => rule(name, given), { isOptional: rule.isOptional, inner: rule });
}

/** Returns the same rule, with its meaning, for an option that can be left out. */
export function option<Given, Value>(
  meaning: string,
  rule: Rule<Given, Value>,
): Rule<Given | undefined, Value | undefined> {
  return described(meaning, optional(rule));
}

/** Rule for an object. */
export interface ObjectRule<R extends AnyRules> {
  /** @param path prefix of the names of options in errors */
  (name: string, given: object, path?: string): Used<R>;
  readonly schema: JsonSchema;
}

/**
 * Returns the rule for an object with only these options. Its table is prepared once and only given options are checked, since it runs for
 * every message.
 *
 * @param schema given if the gateway's document has it under a name
 * @returns a rule that yields an object with all options, which has the same shape whichever are given
 */
export function objectOf<R extends AnyRules>(rules: R, schema: JsonSchema = schemaOf(rules)): ObjectRule<R> {
  const names = Object.keys(rules);
  const required = Object.entries(rules).filter(([, { isOptional }]) => !isOptional);
  const checks = new Map(Object.entries(rules).map(([name, rule]) => [name, directly(rule)]));
  const nothing = Object.fromEntries(names.map((name) => [name, defaultOf(rules[name], name)]));
  const check = (name: string, given: object, path = pathBelow(name)): Used<R> => {
    assertObject(name, given);
    const used: Record<string, unknown> = { ...nothing };
    const options = (isPlain(given) ? given : withInherited(given, names)) as Readonly<Record<string, never>>;
    for (const one in options) {
      const value = options[one];
      const rule = checks.get(one);
      if (rule === undefined) throw unknownOption(name, one, names);
      if (value !== undefined) used[one] = rule(path === '' ? one : path + one, value);
    }
    // The rule of a missing one says what it accepts.
    for (const [one, rule] of required) {
      if (options[one] === undefined) used[one] = rule(`${path}${one}`, undefined as never);
    }
    return used as Used<R>;
  };
  return Object.assign(check, { schema });
}

/** A phrase, such as `The body`, is no part of a path. */
function pathBelow(name: string): string {
  return name.startsWith('The ') ? '' : `${name}.`;
}

function defaultOf(rule: Rule<never, unknown> | undefined, name: string): unknown {
  return rule?.isOptional ? rule(name, undefined as never) : undefined;
}

/** Returns the inner rule, for an option that is given. */
function directly(rule: Rule<never, unknown>): Rule<never, unknown> {
  return rule.inner ? directly(rule.inner) : rule;
}

function isPlain(value: object): boolean {
  return Object.getPrototypeOf(value) === Object.prototype;
}

/** Adds inherited options: an instance of a class can have them as accessors. */
function withInherited(given: object, names: readonly string[]): object {
  const values = given as Readonly<Record<string, unknown>>;
  return { ...given, ...Object.fromEntries(names.map((name) => [name, values[name]])) };
}

/** Returns the schema of an object with these options. */
export function schemaOf(rules: AnyRules): JsonSchema {
  const declarations = Object.entries(rules).filter(([, { schema }]) => schema);
  const required = declarations.flatMap(([name, { isOptional }]) => (isOptional ? [] : [name]));
  return {
    type: 'object',
    properties: Object.fromEntries(declarations.map(([name, { schema }]) => [name, schema])),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

/** @param of name of the items in a sentence */
export function listOf<Given, Value>(
  rule: Rule<Given, Value>,
  { of, min = 0, max }: { readonly of: string; readonly min?: number; readonly max: number },
): Rule<unknown, readonly Value[]> {
  const length = min === 0 ? `at most ${max}` : `${min} to ${max}`;
  return declared({ type: 'array', items: rule.schema, minItems: min, maxItems: max }, (name, given) => {
    if (!Array.isArray(given) || !isWithin(given.length, min, max)) {
      const shown = Array.isArray(given) ? `a list of ${given.length}` : describe(given);
      throw new InvalidArgumentError(`${name} must be a list of ${length} ${of}. Given: ${shown}.`);
    }
    // `map` would skip gaps.
    return Array.from(given, (item: Given, i) => rule(`${name}[${i}]`, item));
  });
}

export function text(min = 0, max = Infinity): Rule<unknown, string> {
  const bounds = { ...(min > 0 && { minLength: min }), ...(max < Infinity && { maxLength: max }) };
  const length = max < Infinity ? ` of ${min} to ${max} characters` : '';
  return declared({ type: 'string', ...bounds }, (name, given) => {
    if (typeof given === 'string' && isWithin(given.length, min, max)) return given;
    if (given === undefined) throw new InvalidArgumentError(`${name} is missing.`);
    throw new InvalidArgumentError(`${name} must be a string${length}. Given: ${describe(given)}.`);
  });
}

export function integer(min: number, max = Number.MAX_SAFE_INTEGER): Rule<unknown, number> {
  return declared({ type: 'integer', minimum: min, maximum: max }, (name, given) => {
    assertInteger(name, given, { min, max });
    return given;
  });
}

export function number(min: number, max: number): Rule<unknown, number> {
  return declared({ type: 'number', minimum: min, maximum: max }, (name, given) => {
    if (isWithin(given, min, max)) return given;
    throw new InvalidArgumentError(`${name} must be a number from ${min} to ${max}. Given: ${describe(given)}.`);
  });
}

export function oneOf<const T extends string>(...allowed: readonly T[]): Rule<unknown, T> {
  return declared({ type: 'string', enum: allowed }, (name, given) => {
    assertOneOf(name, given, allowed);
    return given;
  });
}

export const trueOrFalse: Rule<unknown, boolean> = declared({ type: 'boolean' }, (name, given) => {
  assertBoolean(name, given);
  return given;
});

const DURATION = named('Duration', {
  anyOf: [{ type: 'number', minimum: 0 }, { type: 'string' }],
  description: "Milliseconds, or a number with a unit: '30s', '1h30m'.",
});

/** @param min milliseconds, like `max` and the value used */
export function duration(min: number, max: number = MAX_DELAY): Rule<unknown, number> {
  return declared(DURATION, (name, given) => parseDuration(name, given, { min, max }));
}

/** Rule for a signal; without one, nothing is ever aborted. */
export const abortSignal: Rule<unknown, AbortSignal> = (name, given = new AbortController().signal) => {
  if (isAbortSignal(given)) return given;
  throw new InvalidArgumentError(`${name} must be an AbortSignal. Given: ${describe(given)}.`);
};

/** Rule for an option that is checked together with others. Frozen, since many share it: a schema given to one would apply to all. */
export const asGiven = Object.freeze(<T>(_: string, given: T): T => given);
