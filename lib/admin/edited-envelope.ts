import { SerializationError } from '../errors/serialization.error.js';
import { decodeEnvelope, encodeEnvelope, withPayload } from '../messages/envelope.js';
import type { StoredPayload } from '../messages/serializer.js';

/**
 * An envelope with another payload. One that cannot be decoded has nothing that could be kept, and becomes a new one.
 *
 * @param now the broker's clock, epoch milliseconds
 * @throws SerializationError, PayloadTooLargeError
 */
export function editedEnvelope(envelope: string, stored: StoredPayload, now: number): string {
  return isReadable(envelope) ? withPayload(envelope, stored) : encodeEnvelope({ ...stored, publishedAt: now });
}

function isReadable(envelope: string): boolean {
  try {
    decodeEnvelope(envelope);
    return true;
  } catch (error) {
    if (error instanceof SerializationError) return false;
    throw error;
  }
}
