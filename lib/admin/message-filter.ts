import type { PeekedState, StoredMessage } from '../store/messages/stored-message.js';
import { describe } from '../checks/describe.js';
import { assertOptions } from '../checks/validate.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import type { Failure } from '../messages/failure.js';
import { assertId } from '../messages/message-ref.js';
import { readablePart } from '../messages/envelope.js';
import type { PayloadSerializer } from '../messages/serializer.js';
import { fromStoredId } from '../messages/stored-id.js';
import { assertTag } from '../messages/tags.js';
import { optionalTime } from '../time/date.js';
import type { ListedMessage } from './message-details.js';

/**
 * Selects messages: a message matches if it matches all given properties. Give at least one; `{ all: true }` matches every message. A
 * property that is `undefined` is ignored, and a filter without any other property is refused.
 *
 * @publicApi
 */
export interface MessageFilter {
  /**
   * Messages with this tag. Only these are read.
   *
   * @see docs/guides/tags.md
   */
  readonly tag?: string | undefined;
  /** Messages with this key; the id, if they were published without one. Only the partition of this key is read. */
  readonly key?: string | undefined;
  /**
   * Messages with this text in their id, in their payload as JSON, or in the name, code or message of their last error: 1 to 1,000
   * characters; case is ignored. A payload that this process can't decode is searched as it is stored.
   */
  readonly text?: string | undefined;
  /**
   * Messages whose payload has `value` at `path`, compared as text. `path` names properties from the outside in, with dots between them,
   * such as `customer.id`, and items of arrays by their number, such as `items.0.sku`.
   */
  readonly field?: { readonly path: string; readonly value: string | number | boolean | null } | undefined;
  /** Messages that are due at this time or later, on the Redis server's clock; a number is epoch milliseconds. */
  readonly from?: Date | number | undefined;
  /** Messages that are due before this time. With `from` and `to`, only waiting messages within this range are read. */
  readonly to?: Date | number | undefined;
  /** Every message; can't be combined with other properties. */
  readonly all?: true | undefined;
}

/** A checked filter. Times are epoch milliseconds. */
export interface CheckedMessageFilter extends Pick<MessageFilter, 'tag' | 'key'> {
  /** In lower case. */
  readonly text: string | undefined;
  readonly field: { readonly path: readonly string[]; readonly value: string } | undefined;
  readonly from: number | undefined;
  readonly to: number | undefined;
}

const PROPERTIES: readonly (keyof MessageFilter)[] = ['tag', 'key', 'text', 'field', 'from', 'to', 'all'];
const MAX_TEXT_LENGTH = 1000;

/**
 * @param states states in which messages are looked for
 * @throws InvalidArgumentError if it is not a filter, is empty, or asks for something that messages in these states do not have
 */
export function checkedMessageFilter(
  filter: MessageFilter,
  states: readonly StoredMessage['state'][],
): CheckedMessageFilter {
  assertOptions('The filter of messages', filter, PROPERTIES);
  const { all, ...rest } = filter;
  assertSaysWhich('messages', all, rest);
  const { tag, key, text, field } = rest;
  if (tag !== undefined) assertListedTag(tag, states);
  if (key !== undefined) assertId('key', key);
  if (text !== undefined) assertText('text', text);
  const [from, to] = [optionalTime('from', rest.from), optionalTime('to', rest.to)];
  if (from !== undefined && to !== undefined && from >= to) {
    throw new InvalidArgumentError(`from must be before to. Given: ${describe(rest.from)} and ${describe(rest.to)}.`);
  }
  const timeless = states.filter((state) => state === 'in-flight' || state === 'dead');
  if ((from !== undefined || to !== undefined) && timeless.length > 0) {
    throw new InvalidArgumentError(
      `from and to are about when messages are due, which is not known of those that are ${timeless.join(' or ')}. ` +
        `Leave from and to out, or these states.`,
    );
  }
  return { tag, key, text: text?.toLowerCase(), field: field && checkedField(field), from, to };
}

/** @throws InvalidArgumentError unless it is a tag, and messages in these states can be listed by tag */
export function assertListedTag(tag: unknown, states: readonly PeekedState[]): asserts tag is string {
  assertTag('tag', tag);
  if (!states.includes('finished')) return;
  throw new InvalidArgumentError(
    `Finished messages are not found by their tags: leave 'tag' out, or choose another state.`,
  );
}

/**
 * Refuses a filter that selects nothing in particular: a value that was looked up and is missing must not widen it to everything.
 *
 * @param what noun for what is selected, in the plural
 * @param rest the filter without its property `all`
 * @throws InvalidArgumentError
 */
export function assertSaysWhich(what: string, all: unknown, rest: object): void {
  const isFilter = Object.values(rest).some((value) => value !== undefined);
  if (all === undefined ? isFilter : all === true && !isFilter) return;
  throw new InvalidArgumentError(
    `Say which ${what} are meant: one by its id or { id, key }, those that fit a filter with at least one property, or ` +
      `{ all: true } alone for every one of the topic. Given: ${describe({ ...(all !== undefined && { all }), ...rest })}.`,
  );
}

/** Whether a message that carries the filter's tag matches the filter. */
export function fits(
  topic: string,
  serializer: PayloadSerializer | undefined,
  stored: StoredMessage,
  filter: CheckedMessageFilter,
): boolean {
  if (!fitsOutside(stored, filter)) return false;
  if (filter.text === undefined && filter.field === undefined) return true;
  const { payload } = readablePart(topic, serializer, stored.envelope);
  const { id } = fromStoredId(stored.storedId);
  return fitsContent({ id, failure: stored.failure, payload, raw: stored.envelope }, filter);
}

/** Whether a message matches the parts of the filter that do not depend on its content. */
export function fitsOutside(stored: StoredMessage, filter: CheckedMessageFilter): boolean {
  return (filter.key === undefined || fromStoredId(stored.storedId).key === filter.key) && isDueWithin(stored, filter);
}

/** Whether the content of a message matches the filter. */
export function fitsContent(
  { id, failure, payload, raw }: Pick<ListedMessage, 'id' | 'failure' | 'payload' | 'raw'>,
  { text, field }: Pick<CheckedMessageFilter, 'text' | 'field'>,
): boolean {
  if (field !== undefined && valueAt(payload, field.path) !== field.value) return false;
  if (text === undefined) return true;
  return failureHas(failure, text) || [id, textOf(payload) ?? raw].some((one) => one?.toLowerCase().includes(text));
}

/** @param text in lower case */
export function failureHas(failure: Failure | undefined, text: string): boolean {
  return [failure?.name, failure?.code, failure?.message].some((one) => one?.toLowerCase().includes(text));
}

/** Returns the share of a page that a message takes, in characters. */
export function lengthOf({ raw, payload }: ListedMessage): number {
  return (raw ?? textOf(payload) ?? '').length;
}

function isDueWithin(
  { state, at, ending }: StoredMessage,
  { from = -Infinity, to = Infinity }: CheckedMessageFilter,
): boolean {
  if (from === -Infinity && to === Infinity) return true;
  const due = state === 'scheduled' ? at : ending?.dueAt;
  return due !== undefined && due >= from && due < to;
}

/** Returns the payload as JSON; `undefined` if it has no JSON form: a serializer can produce anything. */
function textOf(payload: unknown): string | undefined {
  try {
    return JSON.stringify(payload);
  } catch {
    return undefined;
  }
}

/** Returns the value at the path as text; `undefined` if there is none, or it is an object. */
function valueAt(payload: unknown, path: readonly string[]): string | undefined {
  let value = payload;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return isScalar(value) || typeof value === 'bigint' ? String(value) : undefined;
}

function isScalar(value: unknown): value is string | number | boolean | null {
  return value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

function checkedField(field: NonNullable<MessageFilter['field']>): CheckedMessageFilter['field'] {
  assertOptions('field', field, ['path', 'value']);
  const { path, value } = field;
  assertText('field.path', path);
  if (!isScalar(value)) {
    throw new InvalidArgumentError(
      `field.value must be a string, a number, true, false or null. Given: ${describe(value)}.`,
    );
  }
  return { path: path.split('.'), value: String(value) };
}

/** @throws InvalidArgumentError */
export function assertText(name: string, value: unknown): asserts value is string {
  if (typeof value === 'string' && value.length > 0 && value.length <= MAX_TEXT_LENGTH) return;
  throw new InvalidArgumentError(
    `${name} must be a string of 1 to ${MAX_TEXT_LENGTH} characters. Given: ${describe(value)}.`,
  );
}
