import { SerializationError } from '../errors/serialization.error.js';
import { encodeEnvelope, withPayload } from '../message/envelope.js';

/**
 * An envelope with another payload. One that cannot be decoded has nothing that could be kept, and becomes a new one.
 *
 * @param now the broker's clock, epoch milliseconds
 * @throws SerializationError, PayloadTooLargeError
 */
export function editedEnvelope(envelope: string, payload: unknown, now: number): string {
  try {
    return withPayload(envelope, payload);
  } catch (error) {
    // Where it is the payload that cannot be stored, this fails in the same way.
    if (error instanceof SerializationError) return encodeEnvelope({ publishedAt: now, payload });
    throw error;
  }
}
