import { SerializationError } from '../errors/publishing.errors.js';
import { MAX_DEPTH } from './parse-exact-json.js';
import { jsonPath } from './json-path.js';

/**
 * Checks a value that another program has read from JSON, as far as that is still possible: the original digits of a whole number above
 * 2^53 are lost.
 *
 * @throws SerializationError with the path of a value that may have changed
 */
export function assertExactValue(value: unknown): void {
  assertExactAt(value, []);
}

function assertExactAt(value: unknown, path: (string | number)[]): void {
  const fault = faultOf(value, path.length);
  if (fault !== undefined) throw new SerializationError(`${jsonPath('', path) || 'The body'} ${fault}`);
  if (typeof value !== 'object' || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    path.push(Array.isArray(value) ? Number(name) : name);
    assertExactAt(inner, path);
    path.pop();
  }
}

function faultOf(value: unknown, depth: number): string | undefined {
  if (typeof value === 'string' && !value.isWellFormed()) return 'has half of a character. Send whole ones.';
  if (typeof value === 'object' && value !== null && depth >= MAX_DEPTH)
    return `is nested more than ${MAX_DEPTH} deep. Send it in parts.`;
  if (typeof value !== 'number' || (Number.isFinite(value) && !mayHaveChanged(value))) return undefined;
  return `is ${Object.is(value, -0) ? '-0' : value}, which may have been another number before it was read. Send it as a string.`;
}

function mayHaveChanged(value: number): boolean {
  return Object.is(value, -0) || (Number.isInteger(value) && !Number.isSafeInteger(value));
}
