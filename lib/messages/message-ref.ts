import { describe } from '../checks/describe.js';
import { declared } from '../checks/rules.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { MAX_ID_LENGTH } from '../checks/limits.js';
import { SEPARATOR } from './stored-id.js';

/** Rule for an id or a key. */
export const ID = declared(
  { type: 'string', minLength: 1, maxLength: MAX_ID_LENGTH },
  (name, given: unknown): string => {
    assertId(name, given);
    return given;
  },
);

/** @throws InvalidArgumentError unless it has 1 to 256 characters that Redis can keep apart */
export function assertId(what: string, value: unknown): asserts value is string {
  const fault = faultOf(value);
  if (fault) throw new InvalidArgumentError(`${what} ${fault}. Given: ${describe(value)}.`);
}

function faultOf(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length === 0 || value.length > MAX_ID_LENGTH) {
    return `must be a string of 1 to ${MAX_ID_LENGTH} characters`;
  }
  if (!value.includes(SEPARATOR) && value.isWellFormed()) return undefined;
  return 'must not contain the character U+0000 or half a surrogate pair';
}

/** Whether callers can name a message with this id or key; other programs may have stored anything. */
export function isName({ id, key }: { id: string; key: string }): boolean {
  return faultOf(id) === undefined && (key === id || faultOf(key) === undefined);
}

/**
 * Reference to a message: its id, or its id and its key. An id without its key means the message without a key of its own; if there is
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
