import { inspect } from 'node:util';
import { isPlainObject } from './kinds.js';

/** Describes a value for an error message: short, on one line, with its type visible. */
export function describe(value: unknown): string {
  return shortened(inspected(value).replaceAll(/\s*\n\s*/g, ' '));
}

/** Inspects a value; one can define how it is shown, and fail at that. */
function inspected(value: unknown): string {
  try {
    if (isLarge(value, 1)) return `an object with more than ${MAX_NAMES} properties`;
    return inspect(value, { depth: 1, breakLength: Infinity, maxStringLength: 60, maxArrayLength: 5 });
  } catch {
    return `a value of type ${typeof value} that cannot be shown`;
  }
}

/** Most properties of an object that is shown: `inspect()` would go through all. */
const MAX_NAMES = 1000;

function isLarge(value: unknown, depth: number): boolean {
  if (!isPlainObject(value)) return false;
  let names = 0;
  for (const name in value) {
    if (++names > MAX_NAMES || (depth > 0 && isLarge(value[name], depth - 1))) return true;
  }
  return false;
}

function shortened(text: string): string {
  return text.length > 120 ? `${text.slice(0, 117)}...` : text;
}

/** Most items that a line of the log names. */
const MAX_NAMED = 10;

/** Returns a text such as `a, b, c and 5 more`: the first ten, and the number of others. */
export function enumerate(items: readonly string[]): string {
  const named = items.slice(0, MAX_NAMED).join(', ');
  return items.length > MAX_NAMED ? `${named} and ${items.length - MAX_NAMED} more` : named;
}
