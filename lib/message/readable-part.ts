import { SerializationError } from '../errors/serialization.error.js';
import { type Envelope, decodeEnvelope } from './envelope.js';

/** What people want to see of an envelope; nothing where it cannot be decoded. */
export function readablePart(envelope: string): Pick<Envelope, 'payload' | 'headers'> {
  try {
    const { payload, headers } = decodeEnvelope(envelope);
    return { payload, headers };
  } catch (error) {
    if (!(error instanceof SerializationError)) throw error;
    return { payload: undefined, headers: {} };
  }
}
