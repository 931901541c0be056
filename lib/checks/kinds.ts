import { types } from 'node:util';

// What a value from outside is. Its class does not decide: another realm, such as of Jest or of node:vm, has classes of its own with the
// same names, and a native module answers with those of the main one. `instanceof` is for what this library has made itself.

/** Whether it is an error, of whatever realm. */
export function isError(value: unknown): value is Error {
  return types.isNativeError(value) || value instanceof Error || tagOf(value) === 'DOMException';
}

/** Whether it is a `Date`, valid or not. */
export const isDate: (value: unknown) => value is Date = types.isDate;

/** Whether it is a plain object, and not a Map, an array or an instance of a class. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value) as object | null;
  return prototype === null || (Object.getPrototypeOf(prototype) === null && tagOf(value) === 'Object');
}

export function isUrl(value: unknown): value is URL {
  return tagOf(value) === 'URL';
}

export function isAbortSignal(value: unknown): value is AbortSignal {
  return tagOf(value) === 'AbortSignal';
}

/** What it says of itself, such as `Map`. */
function tagOf(value: unknown): string {
  return Object.prototype.toString.call(value).slice('[object '.length, -1);
}
