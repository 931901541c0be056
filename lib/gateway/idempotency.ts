import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { stringify as uuidText } from 'uuid';
import { refusal } from './problem.js';

/** The parts of a request that make it the same as another one. */
export interface RepeatableRequest {
  /** Name of the sender; senders that the application tells apart by something other than `Authorization` are known by it alone. */
  readonly actor: string | undefined;
  readonly method: string;
  /** Path with the query. */
  readonly path: string;
  readonly body: unknown;
}

/**
 * Returns the name of an operation that can be requested again: the same for the same request of the same sender with the same
 * `Idempotency-Key`, whichever process gets it.
 *
 * @returns `undefined` if it has no such key
 * @throws Refusal if the key is invalid
 */
export function operationOf(
  { headers }: IncomingMessage,
  { actor, method, path, body }: RepeatableRequest,
): string | undefined {
  const key = headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key !== 'string' || !/^[\x20-\x7e]{1,255}$/.test(key)) {
    throw refusal('INVALID_ARGUMENT', 'Idempotency-Key must have 1 to 255 printable characters of ASCII.');
  }
  return hash(
    'sha256',
    JSON.stringify([key, actor ?? null, headers.authorization ?? '', method, path, body ?? null]),
    'base64url',
  );
}

/** Returns the id of a message that is published without one: the same each time the operation is done. */
export function messageIdOf(operation: string, place: number): string {
  const bytes = hash('sha256', `${operation} ${place}`, 'buffer').subarray(0, 16);
  // The content of a version 8 UUID is up to its maker (RFC 9562, 5.8).
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  return uuidText(bytes);
}
