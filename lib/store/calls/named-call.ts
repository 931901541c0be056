import type { CallId } from '../partition.js';

/**
 * A call of an operation that may be made again, by any process: then it is the repeat of this one.
 *
 * @param part tells it from other calls of the operation to the same partition
 */
export function namedCall(operation: string, part: string): CallId {
  return { caller: `${operation}:${part}`, sequence: 1 };
}
