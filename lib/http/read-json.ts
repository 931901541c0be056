import type { IncomingMessage } from 'node:http';
import { assertExactValue } from '../checks/exact-value.js';
import { NoJsonError, parseExactJson } from '../checks/parse-exact-json.js';
import { Refusal } from './refusal.js';

/** Limit of a body, and codes of its refusals. */
export interface BodyRules {
  /** Most bytes. */
  readonly max: number;
  /** Codes of the refusals. */
  readonly tooLarge: string;
  readonly noJson: string;
}

/** Most that is read of a body that is too large, in bytes: a client that is still writing does not read the answer. */
const MAX_DISCARDED = 64 * 1024 * 1024;

/** @throws Refusal unless the request declares its body as JSON without a content encoding */
export function assertSaysJson({ headers }: IncomingMessage): void {
  if (!saysJson(headers['content-type'])) throw unsupported('A body is sent as application/json.');
  const { 'content-encoding': encoding = 'identity' } = headers;
  if (encoding.toLowerCase() !== 'identity') throw unsupported('A body is sent without a content-encoding.');
}

export function saysJson(contentType: string | undefined): boolean {
  return /^application\/json\s*(;|$)/i.test(contentType ?? '');
}

function unsupported(message: string): Refusal {
  return new Refusal(415, 'UNSUPPORTED_MEDIA_TYPE', message);
}

/**
 * Reads a JSON body, and refuses values that would come back as something else.
 *
 * @param given result of a parser of the application that ran before us: bytes, or a value. `undefined`: no parser has read it
 * @returns `undefined` if it is empty
 * @throws Refusal if it is too large, not JSON, or declared as something else
 * @throws SerializationError with the path of the value that would change
 */
export async function readJson(request: IncomingMessage, rules: BodyRules, given?: unknown): Promise<unknown> {
  if (given !== undefined && !(given instanceof Uint8Array)) {
    assertSaysJson(request);
    assertExactValue(given);
    return given;
  }
  const bytes = given ?? (await readBytes(request, rules));
  if (bytes.length === 0) return undefined;
  // A parser that has read it may have decompressed it, too.
  if (given === undefined) assertSaysJson(request);
  try {
    return parseExactJson(bytes);
  } catch (error) {
    if (!(error instanceof NoJsonError)) throw error;
    throw new Refusal(400, rules.noJson, `The body is no JSON. ${error.message}`);
  }
}

/** @throws Refusal if there are too many */
async function readBytes(request: IncomingMessage, { max, tooLarge }: BodyRules): Promise<Uint8Array> {
  const refusal = (): Refusal =>
    new Refusal(413, tooLarge, `A body has at most ${max} bytes.`, { connection: 'close' });
  const mostRead = Math.max(max, MAX_DISCARDED);
  if (Number(request.headers['content-length'] ?? 0) > mostRead) throw refusal();
  if (request.readableEnded) return NOTHING;
  const bytes = await readUpTo(max, request, mostRead);
  if (!bytes) throw refusal();
  return bytes;
}

const NOTHING = new Uint8Array();

/**
 * Reads a body by its events, because an iterator costs as much as the rest of a short request.
 *
 * @returns `undefined` if it is larger
 */
async function readUpTo(max: number, request: IncomingMessage, mostRead: number): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let isWhole = false;
    const end = (): void => {
      isWhole = true;
      resolve(size > max ? undefined : chunks.length === 1 ? chunks[0] : Buffer.concat(chunks));
    };
    const fail = (): void => {
      if (!isWhole) reject(new Error('The connection has ended before the body.'));
    };
    // A request whose connection is gone already emits no more events.
    if (request.destroyed) return fail();
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= max) chunks.push(chunk);
      if (size > mostRead) resolve(undefined);
    });
    request.once('end', end);
    request.once('error', reject);
    // Every request closes, so `fail` makes no error unless needed: one costs as much as everything else here.
    request.once('close', fail);
  });
}
