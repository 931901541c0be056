import { SerializationError } from '../errors/publishing.errors.js';
import { type Envelope, decodeEnvelope } from './envelope.js';
import { type PayloadSerializer, type StoredPayload, fromStored } from './serializer.js';

/** The part of an envelope that people look at. Empty if it cannot be decoded; without the payload if that cannot be read. */
export function readablePart(
  topic: string,
  serializer: PayloadSerializer | undefined,
  envelope: string,
): Pick<Envelope, 'payload' | 'headers'> {
  const decoded = unlessUnreadable(() => decodeEnvelope(envelope));
  if (!decoded) return { payload: undefined, headers: {} };
  return { payload: readablePayload(topic, serializer, decoded), headers: decoded.headers };
}

/** A payload as a handler would get it; `undefined` if this process cannot read it. */
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
