import * as z from 'zod';
import { describe } from '../checks/describe.js';
import { isPlainObject } from '../checks/kinds.js';
import { didYouMean } from '../checks/nearest.js';
import { pathText } from '../checks/payload-issues.js';
import { InvalidArgumentError } from '../errors/options.errors.js';

type Issue = z.core.$ZodIssue;

/** Most things that an error names. */
const MOST_NAMED = 3;

/**
 * Checks what a request has brought.
 *
 * @param name what errors call it, such as `The body`
 * @throws InvalidArgumentError
 */
export function checkedValue<T>(name: string, schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const named = issuesOf(result.error.issues).slice(0, MOST_NAMED);
  throw new InvalidArgumentError(named.map((issue) => textOf(name, issue, value)).join(' '));
}

/** An object that has these properties and no others, and says which one was probably meant. */
export function strictObject<S extends z.ZodRawShape>(shape: S) {
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== 'unrecognized_keys') return undefined;
      const [key = ''] = issue.keys;
      const known = Object.keys(shape);
      return `There is no property ${describe(key)} here.${didYouMean(key, known)} Known properties: ${known.join(', ') || 'none'}.`;
    },
  });
}

/**
 * A list that is refused as a whole if it is too long: otherwise each thing in it could have a fault of its own, and a body holds millions.
 */
export function listOf<S extends z.ZodType>(
  items: S,
  { min = 0, max }: { readonly min?: number; readonly max: number },
) {
  return z.preprocess((value, { issues }) => {
    if (!Array.isArray(value) || value.length <= max) return value;
    issues.push({ code: 'custom', input: value, message: `expected at most ${max} items, received ${value.length}` });
    return z.NEVER;
  }, z.array(items).min(min).max(max));
}

/** An object of texts, as it came: a record of zod leaves a name `__proto__` out, and finds a fault in each value. */
export function textsByName() {
  const schema = z.unknown().check(({ value, issues }) => {
    if (!isPlainObject(value)) {
      issues.push({ code: 'custom', input: value, message: 'expected an object of strings' });
      return;
    }
    for (const name in value) {
      if (typeof value[name] === 'string') continue;
      issues.push({ code: 'custom', input: value, path: [name], message: 'expected string' });
      return;
    }
  });
  return schema.meta({ type: 'object', additionalProperties: { type: 'string' } }) as unknown as z.ZodType<
    Record<string, string>
  >;
}

/** Of a choice that nothing fits, what is wrong for the one that fits best, unless the choice says itself what it takes. */
function issuesOf(issues: readonly Issue[]): readonly Issue[] {
  return issues.flatMap((issue) => {
    if (issue.code !== 'invalid_union' || issue.message !== NO_CHOICE || issue.errors.length === 0) return [issue];
    const [best] = issue.errors.toSorted((a, b) => depthOf(b) - depthOf(a) || a.length - b.length);
    return issuesOf((best ?? []).map((one) => ({ ...one, path: [...issue.path, ...one.path] })));
  });
}

const NO_CHOICE = 'Invalid input';

/** How far the check has come at least. */
function depthOf(issues: readonly Issue[]): number {
  return issues.reduce((least, { path }) => Math.min(least, path.length), Infinity);
}

function textOf(name: string, issue: Issue, value: unknown): string {
  const place = issue.path.length === 0 ? name : pathText(issue.path);
  const given = at(value, issue.path);
  if (issue.code === 'unrecognized_keys') return `${place}: ${issue.message}`;
  if (given === undefined) return `${place} is missing.`;
  const text = issue.message.replace(/^(Invalid input|Invalid option|Too small|Too big): /, '');
  return `${place}: ${sentence(text)} Given: ${describe(given)}.`;
}

function sentence(text: string): string {
  return text.endsWith('.') ? text : `${text}.`;
}

function at(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, key) => (inner as Record<PropertyKey, unknown> | undefined)?.[key], value);
}
