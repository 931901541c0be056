import type { CallId } from '../partition.js';

/**
 * Names a call that any process can make again: the broker takes that for a repeat of this one.
 *
 * @param part distinguishes it from other calls of the operation to the same partition
 */
export function namedCall(operation: string, part: string): CallId {
  return { caller: `${operation}:${part}`, sequence: 1 };
}
