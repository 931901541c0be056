import { inspect } from 'node:util';
import { isPlainObject } from './kinds.js';

/** A value as it is shown in an error message: short, on one line, with its type visible. */
export function describe(value: unknown): string {
  return shortened(inspected(value).replaceAll(/\s*\n\s*/g, ' '));
}

/** A value may say itself how it is shown, and fail at that. */
function inspected(value: unknown): string {
  try {
    if (isLarge(value, 1)) return `an object with more than ${MAX_NAMES} properties`;
    return inspect(value, { depth: 1, breakLength: Infinity, maxStringLength: 60, maxArrayLength: 5 });
  } catch {
    return `a value of type ${typeof value} that cannot be shown`;
  }
}

/** More of them are not shown: `inspect()` would go through all. */
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

/** Such as `a, b, c and 5 more`: the first ten, and how many more there are. */
export function enumerate(items: readonly string[]): string {
  const named = items.slice(0, MAX_NAMED).join(', ');
  return items.length > MAX_NAMED ? `${named} and ${items.length - MAX_NAMED} more` : named;
}
