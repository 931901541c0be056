import { SerializationError } from '../errors/serialization.error.js';
import { decodeEnvelope, encodeEnvelope } from '../message/envelope.js';

/**
 * An envelope with another payload. One that cannot be decoded has nothing that could be kept, and becomes a new one.
 *
 * @param now the broker's clock, epoch milliseconds
 * @throws SerializationError, PayloadTooLargeError
 */
export function editedEnvelope(envelope: string, payload: unknown, now: number): string {
  return encodeEnvelope({ ...(decoded(envelope) ?? { publishedAt: now }), payload });
}

function decoded(envelope: string): ReturnType<typeof decodeEnvelope> | undefined {
  try {
    return decodeEnvelope(envelope);
  } catch (error) {
    if (error instanceof SerializationError) return undefined;
    throw error;
  }
}
