import { PayloadTooLargeError, SerializationError } from '../errors/publishing.errors.js';
import { MAX_TIME } from '../time/date.js';
import { describe } from '../checks/describe.js';
import { isPlainObject } from '../checks/kinds.js';
import { isWithin } from '../checks/validate.js';
import { decodeBackoff, encodeBackoff, type EncodedBackoff, type ResolvedBackoff } from './backoff.js';
import { MAX_ATTEMPTS, MAX_DELAY, MAX_PAYLOAD_BYTES, MAX_TAGS } from '../checks/limits.js';
import type { StoredOptions } from './message-options.js';
import { toJson } from './payload-to-json.js';
import { fromStored, type PayloadSerializer, type StoredPayload } from './serializer.js';
import { isTag } from './tags.js';

/** Options that a message was published with; `undefined` where its handler and its topic decide. */
type OwnOptions = Partial<Pick<Envelope, 'attempts' | 'backoff' | 'timeout' | 'expireAfter'>>;

interface ReadablePart extends Pick<Envelope, 'payload' | 'headers'> {
  readonly tags: readonly string[];
  readonly publishedAt: number | undefined;
  readonly options: OwnOptions;
}

/** Returns the part of an envelope that people look at: empty if it cannot be decoded, without the payload if that cannot be read. */
export function readablePart(topic: string, serializer: PayloadSerializer | undefined, envelope: string): ReadablePart {
  const decoded = unlessUnreadable(() => decodeEnvelope(envelope));
  if (!decoded) return { payload: undefined, headers: {}, tags: [], publishedAt: undefined, options: {} };
  const { headers, tags = [], publishedAt, attempts, backoff, timeout, expireAfter } = decoded;
  const options = { attempts, backoff, timeout, expireAfter };
  return { payload: readablePayload(topic, serializer, decoded), headers, tags, publishedAt, options };
}

/** Returns the tags in an envelope; `undefined` if there are none, or if it cannot be decoded. */
export function tagsOf(envelope: string): readonly string[] | undefined {
  return unlessUnreadable(() => decodeEnvelope(envelope))?.tags;
}

/** Returns a payload as a handler would get it; `undefined` if this process cannot read it. */
export function readablePayload(
  topic: string,
  serializer: PayloadSerializer | undefined,
  stored: StoredPayload,
): unknown {
  return unlessUnreadable(() => fromStored(topic, serializer, stored));
}

function unlessUnreadable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof SerializationError) return undefined;
    throw error;
  }
}

/** Stored data of a message besides its id and due time. Written once, when the message is published. */
export interface Envelope extends StoredPayload {
  /** Time of the publish in epoch milliseconds, by the publisher's estimate of the Redis server's clock. */
  readonly publishedAt: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly tags: readonly string[] | undefined;
  readonly attempts: number | undefined;
  readonly backoff: ResolvedBackoff | undefined;
  readonly timeout: number | undefined;
  readonly expireAfter: number | undefined;
}

/** Fields that a publisher puts into an envelope. */
export interface EnvelopeFields extends StoredPayload, StoredOptions {
  readonly publishedAt: number;
}

/** Stored options. Property names are one letter, since they are stored with every message that has the option. */
interface EncodedOptions {
  h?: Record<string, string> | undefined;
  g?: readonly string[] | undefined;
  a?: number | undefined;
  b?: EncodedBackoff | undefined;
  t?: number | undefined;
  e?: number | undefined;
  /** Whether a serializer made the payload. */
  s?: 1 | undefined;
}

type EncodedEnvelope = readonly [publishedAt: number, payload: unknown, options?: EncodedOptions | null];

type DecodedOptions = Omit<Envelope, 'payload' | 'publishedAt'>;

const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze({});
const NO_OPTIONS: DecodedOptions = Object.freeze({
  serialized: undefined,
  headers: NO_HEADERS,
  tags: undefined,
  attempts: undefined,
  backoff: undefined,
  timeout: undefined,
  expireAfter: undefined,
});

/**
 * Encodes a message as `[publishedAt, payload]` or `[publishedAt, payload, options]` in JSON: nothing but the payload and
 * 16 bytes for a message without options.
 *
 * @param given options of the message, if they are not among the fields
 * @throws SerializationError if JSON cannot hold the payload, or would change it
 * @throws PayloadTooLargeError if payload and headers together exceed 1 MiB
 */
export function encodeEnvelope(fields: EnvelopeFields, given: StoredOptions = fields): string {
  const payload = toJson(fields);
  const options = encodeOptions(given, fields.serialized);
  const envelope =
    options === undefined
      ? `[${Math.round(fields.publishedAt)},${payload}]`
      : `[${Math.round(fields.publishedAt)},${payload},${options}]`;
  // A character has at most 3 bytes in UTF-8, so a short text need not be counted.
  if (envelope.length * 3 > MAX_PAYLOAD_BYTES) assertSize(payload, given.headers);
  return envelope;
}

/**
 * Returns the same envelope with another payload. Options that this version does not know stay, too.
 *
 * @throws SerializationError if JSON cannot hold the payload, if a serializer made the stored payload but not the new one,
 *   or if {@link encodeEnvelope} did not write the envelope
 * @throws PayloadTooLargeError if payload and headers together exceed 1 MiB
 */
export function withPayload(text: string, stored: StoredPayload): string {
  const { publishedAt, headers, serialized } = decodeEnvelope(text);
  if (serialized && !stored.serialized) {
    throw new SerializationError(
      `The payload was published with a serializer. To replace it, give the admin the same option 'serializer'.`,
    );
  }
  const [, , given, ...rest] = parseJson(text) as [...Required<EncodedEnvelope>, ...unknown[]];
  const json = toJson(stored);
  assertSize(json, headers);
  const options = JSON.stringify({ ...given, s: stored.serialized && 1 });
  const behind = rest.map((part) => `,${JSON.stringify(part)}`).join('');
  return `[${publishedAt},${json}${options === '{}' && behind === '' ? '' : `,${options}`}${behind}]`;
}

/** Returns the same envelope as if it had been published at `publishedAt`, in epoch milliseconds. Any other text stays unchanged. */
export function withTime(text: string, publishedAt: number): string {
  return text.replace(/^\[\d+(?=,)/, `[${publishedAt}`);
}

/**
 * Reads a stored envelope. Everything in the result is within the bounds of what can be published.
 *
 * @throws SerializationError if {@link encodeEnvelope} did not write it; it never throws anything else
 */
export function decodeEnvelope(text: string): Envelope {
  const parts = parseJson(text);
  if (!isEnvelope(parts)) throw new SerializationError(`The stored message is no envelope: ${describe(text)}.`);
  const [publishedAt, payload, options] = parts;
  return options ? { publishedAt, payload, ...decodeOptions(options) } : { publishedAt, payload, ...NO_OPTIONS };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new SerializationError(`The stored message is no JSON: ${describe(text)}.`, { cause: error });
  }
}

function isEnvelope(
  parts: unknown,
): parts is readonly [publishedAt: number, payload: unknown, options?: object | null, ...unknown[]] {
  // A later version may have appended more parts.
  if (!Array.isArray(parts) || parts.length < 2 || !isWithin(parts[0], 0, MAX_TIME)) return false;
  return parts.length === 2 || parts[2] === null || isPlainObject(parts[2]);
}

/** Decodes stored options. Another program may have written them, so every value is checked. */
function decodeOptions({ h, g, a, b, t, e, s }: { readonly [K in keyof EncodedOptions]: unknown }): DecodedOptions {
  const backoff = b === undefined ? undefined : decodeBackoff(b);
  if (h !== undefined && !isHeaders(h)) throw damaged('h', h, 'an object of strings');
  if (g !== undefined && !isTagList(g)) throw damaged('g', g, `an array of at most ${MAX_TAGS} tags`);
  if (a !== undefined && !(Number.isInteger(a) && isWithin(a, 1, MAX_ATTEMPTS))) {
    throw damaged('a', a, `a whole number from 1 to ${MAX_ATTEMPTS}`);
  }
  if (b !== undefined && !backoff)
    throw damaged('b', b, '[delay, factor, maxDelay, jitter] or [delays, jitter], each within its bounds');
  if (s !== undefined && s !== 1) throw damaged('s', s, '1');
  if (t !== undefined && !isWithin(t, 1, MAX_DELAY)) throw damaged('t', t, `milliseconds from 1 to ${MAX_DELAY}`);
  if (e !== undefined && !isWithin(e, 1, MAX_DELAY)) throw damaged('e', e, `milliseconds from 1 to ${MAX_DELAY}`);
  return {
    serialized: s && true,
    headers: h ?? NO_HEADERS,
    tags: g,
    attempts: a,
    backoff,
    timeout: t,
    expireAfter: e,
  };
}

function damaged(option: keyof EncodedOptions, value: unknown, allowed: string): SerializationError {
  return new SerializationError(
    `The stored message has the option '${option}' ${describe(value)}, but it must be ${allowed}.`,
  );
}

function encodeOptions(given: StoredOptions, serialized: true | undefined): string | undefined {
  const { headers, tags, attempts, backoff, timeout, expireAfter } = given;
  // Most messages have none.
  if (
    !headers &&
    !tags &&
    attempts === undefined &&
    !backoff &&
    timeout === undefined &&
    expireAfter === undefined &&
    !serialized
  )
    return undefined;
  const options: EncodedOptions = {
    h: headers && Object.keys(headers).length > 0 ? headers : undefined,
    g: tags,
    a: attempts,
    b: backoff && encodeBackoff(backoff),
    t: timeout,
    e: expireAfter,
    s: serialized && 1,
  };
  for (const name in options) if (options[name as keyof EncodedOptions] !== undefined) return JSON.stringify(options);
  return undefined;
}

function assertSize(payload: string, headers: Readonly<Record<string, string>> | undefined): void {
  const size = Buffer.byteLength(payload) + (headers ? Buffer.byteLength(JSON.stringify(headers)) : 0);
  if (size > MAX_PAYLOAD_BYTES) throw new PayloadTooLargeError(size, MAX_PAYLOAD_BYTES);
}

function isHeaders(value: unknown): value is Record<string, string> {
  return isPlainObject(value) && Object.values(value).every((header) => typeof header === 'string');
}

function isTagList(value: unknown): value is string[] {
  return Array.isArray(value) && value.length <= MAX_TAGS && value.every(isTag);
}

/** Returns when a message was published, read from the start of its envelope; `undefined` if that cannot be read. */
export function publishedAtOf(envelope: string): number | undefined {
  const [, publishedAt] = /^\[(\d{1,16}),/.exec(envelope) ?? [];
  return publishedAt === undefined ? undefined : Number(publishedAt);
}
