import { InvalidArgumentError } from '../errors/invalid-argument.error.js';
import { PayloadTooLargeError } from '../errors/payload-too-large.error.js';
import { SerializationError } from '../errors/serialization.error.js';
import { describe } from '../common/describe.js';
import { isPlainObject } from '../common/validate.js';
import { type EncodedBackoff, type ResolvedBackoff, decodeBackoff, encodeBackoff } from './backoff.js';
import { MAX_PAYLOAD_BYTES } from './limits.js';

/** What is stored of a message beside its id and due time. Written once, when the message is published. */
export interface Envelope {
  readonly payload: unknown;
  /** Epoch milliseconds, the publisher's estimate of the Redis server's clock. */
  readonly publishedAt: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly attempts: number | undefined;
  readonly backoff: ResolvedBackoff | undefined;
  readonly timeout: number | undefined;
  readonly expireAfter: number | undefined;
}

/** What a publisher puts into an envelope. */
export interface EnvelopeFields {
  readonly payload: unknown;
  readonly publishedAt: number;
  readonly headers?: Record<string, string> | undefined;
  readonly attempts?: number | undefined;
  readonly backoff?: ResolvedBackoff | undefined;
  readonly timeout?: number | undefined;
  readonly expireAfter?: number | undefined;
}

/** Property names are one letter: they are stored with every message that has the option. */
interface EncodedOptions {
  h?: Record<string, string> | undefined;
  a?: number | undefined;
  b?: EncodedBackoff | undefined;
  t?: number | undefined;
  e?: number | undefined;
}

type EncodedEnvelope = readonly [publishedAt: number, payload: unknown, options?: EncodedOptions | null];

const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze({});
const NO_OPTIONS: EncodedOptions = Object.freeze({});

/**
 * Encodes a message as `[publishedAt, payload]` or `[publishedAt, payload, options]` in JSON: nothing but the payload and
 * 16 bytes for a message without options.
 *
 * @throws SerializationError where JSON cannot hold the payload
 * @throws PayloadTooLargeError where payload and headers are over 1 MiB
 */
export function encodeEnvelope(fields: EnvelopeFields): string {
  const payload = encodePayload(fields.payload);
  const options = encodeOptions(fields);
  const envelope =
    options === undefined
      ? `[${Math.round(fields.publishedAt)},${payload}]`
      : `[${Math.round(fields.publishedAt)},${payload},${options}]`;
  // A character is at most 3 bytes in UTF-8, so counting can be spared for what is short.
  if (envelope.length * 3 > MAX_PAYLOAD_BYTES) assertSize(payload, fields.headers);
  return envelope;
}

/**
 * The same envelope with another payload. Options that this version does not know stay, too.
 *
 * @throws SerializationError where JSON cannot hold the payload, or the envelope was not written by {@link encodeEnvelope}
 * @throws PayloadTooLargeError where payload and headers are over 1 MiB
 */
export function withPayload(text: string, payload: unknown): string {
  const [publishedAt, , options] = parseEnvelope(text);
  const json = encodePayload(payload);
  assertSize(json, options?.h);
  return `[${publishedAt},${json}${options ? `,${JSON.stringify(options)}` : ''}]`;
}

/** @throws SerializationError where it was not written by {@link encodeEnvelope} */
export function decodeEnvelope(text: string): Envelope {
  const parts = parseEnvelope(text);
  const options = parts[2] ?? NO_OPTIONS;
  return {
    payload: parts[1],
    publishedAt: parts[0],
    headers: options.h ?? NO_HEADERS,
    attempts: options.a,
    backoff: options.b && decodeBackoff(options.b),
    timeout: options.t,
    expireAfter: options.e,
  };
}

function parseEnvelope(text: string): EncodedEnvelope {
  let parts: unknown;
  try {
    parts = JSON.parse(text);
  } catch (error) {
    throw new SerializationError(`The stored message is no JSON: ${describe(text)}.`, { cause: error });
  }
  if (!Array.isArray(parts) || parts.length < 2 || typeof parts[0] !== 'number') {
    throw new SerializationError(`The stored message is no envelope: ${describe(text)}.`);
  }
  return parts as unknown as EncodedEnvelope;
}

function encodePayload(payload: unknown): string {
  let json: string | undefined;
  try {
    json = JSON.stringify(payload);
  } catch (error) {
    throw new SerializationError(
      `The payload cannot be written as JSON (${reasonOf(error)}). Publish plain data: no cycles, no BigInt.`,
      { cause: error },
    );
  }
  if (json === undefined) {
    throw new SerializationError(
      `The payload cannot be written as JSON: ${describe(payload)}. Publish null where there is none.`,
    );
  }
  return json;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? (error.message.split('\n')[0] ?? '') : describe(error);
}

function encodeOptions({ headers, attempts, backoff, timeout, expireAfter }: EnvelopeFields): string | undefined {
  // Most messages have none.
  if (!headers && attempts === undefined && !backoff && timeout === undefined && expireAfter === undefined)
    return undefined;
  const options: EncodedOptions = {
    h: headers && Object.keys(headers).length > 0 ? headers : undefined,
    a: attempts,
    b: backoff && encodeBackoff(backoff),
    t: timeout,
    e: expireAfter,
  };
  for (const name in options) if (options[name as keyof EncodedOptions] !== undefined) return JSON.stringify(options);
  return undefined;
}

function assertSize(payload: string, headers: Record<string, string> | undefined): void {
  const size = Buffer.byteLength(payload) + (headers ? Buffer.byteLength(JSON.stringify(headers)) : 0);
  if (size > MAX_PAYLOAD_BYTES) throw new PayloadTooLargeError(size, MAX_PAYLOAD_BYTES);
}

/** @throws InvalidArgumentError where it is no object of strings */
export function assertHeaders(headers: unknown): asserts headers is Record<string, string> {
  if (!isPlainObject(headers)) {
    throw new InvalidArgumentError(`headers must be an object of strings. Given: ${describe(headers)}.`);
  }
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value !== 'string') {
      throw new InvalidArgumentError(`headers['${name}'] must be a string. Given: ${describe(value)}.`);
    }
  }
}
