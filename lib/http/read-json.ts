import type { IncomingMessage } from 'node:http';
import { Refusal } from './refusal.js';

/** What a body may be, and what it is refused with. */
export interface BodyRules {
  /** Most bytes. */
  readonly max: number;
  /** Codes of the refusals. */
  readonly tooLarge: string;
  readonly noJson: string;
}

/** A body that is too large is read to its end up to here, in bytes, since who still writes does not read the answer. */
const MAX_DISCARDED = 64 * 1024 * 1024;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** @throws Refusal unless the request says that its body is JSON */
export function assertSaysJson({ headers }: IncomingMessage): void {
  if (saysJson(headers['content-type'])) return;
  throw new Refusal(415, 'UNSUPPORTED_MEDIA_TYPE', 'A body is sent as application/json.');
}

export function saysJson(contentType: string | undefined): boolean {
  return /^application\/json\s*(;|$)/i.test(contentType ?? '');
}

/**
 * Reads a body that is JSON.
 *
 * @returns `undefined` if it is empty
 * @throws Refusal if it is too large, or no JSON
 */
export async function readJson(request: IncomingMessage, { max, tooLarge, noJson }: BodyRules): Promise<unknown> {
  const refusal = (): Refusal =>
    new Refusal(413, tooLarge, `A body has at most ${max} bytes.`, { connection: 'close' });
  const length = Number(request.headers['content-length'] ?? 0);
  if (length > MAX_DISCARDED) throw refusal();
  const bytes = await readUpTo(max, request);
  if (!bytes) throw refusal();
  return bytes.length === 0 ? undefined : parse(bytes, noJson);
}

/**
 * Reads a body by its events, since an iterator of it costs as much as the rest of a short request.
 *
 * @returns `undefined` if it is larger
 */
async function readUpTo(max: number, request: IncomingMessage): Promise<Buffer | undefined> {
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
    // Nothing is told any more of a request whose connection is gone already.
    if (request.destroyed) return fail();
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= max) chunks.push(chunk);
      if (size > MAX_DISCARDED) resolve(undefined);
    });
    request.once('end', end);
    request.once('error', reject);
    // Of every request, and an error costs as much as all else here.
    request.once('close', fail);
  });
}

function parse(bytes: Buffer, code: string): unknown {
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch {
    throw new Refusal(400, code, 'The body is no JSON in UTF-8.');
  }
}
