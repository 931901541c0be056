import { assertId } from './assert-id.js';

/**
 * Which message is meant: its id, or its id and its key. An id without its key means the message without a key of its own; if there is
 * none, the first one found with this id.
 *
 * @publicApi
 */
export type MessageRef = string | { readonly id: string; readonly key: string };

/** @throws InvalidArgumentError if it is neither an id nor an id with a key */
export function assertMessageRef(ref: unknown): asserts ref is MessageRef {
  if (typeof ref !== 'object' || ref === null) return assertId('id', ref);
  const { id, key } = ref as Record<string, unknown>;
  assertId('id', id);
  assertId('key', key);
}
