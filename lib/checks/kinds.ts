import { types } from 'node:util';

// Kinds of values from outside. The class does not decide: another realm, such as that of Jest or node:vm, has its own classes with the
// same names, and a native module returns instances of the main realm's. `instanceof` is for values that this library has created itself.

/** Whether it is an error, of any realm. */
export function isError(value: unknown): value is Error {
  return types.isNativeError(value) || value instanceof Error || tagOf(value) === 'DOMException';
}

/** Whether it is a `Date`, valid or not. */
export const isDate: (value: unknown) => value is Date = types.isDate;

/** Whether it is a plain object, not a Map, an array or an instance of a class. */
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

/** Returns its tag, such as `Map`. */
function tagOf(value: unknown): string {
  return Object.prototype.toString.call(value).slice('[object '.length, -1);
}
