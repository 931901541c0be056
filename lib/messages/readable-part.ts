import { SerializationError } from '../errors/publishing.errors.js';
import { type Envelope, decodeEnvelope } from './envelope.js';
import { type PayloadSerializer, type StoredPayload, fromStored } from './serializer.js';

/** What a message was published with; `undefined` what it leaves to its handler and its topic. */
type OwnOptions = Partial<Pick<Envelope, 'attempts' | 'backoff' | 'timeout' | 'expireAfter'>>;

export interface ReadablePart extends Pick<Envelope, 'payload' | 'headers'> {
  readonly tags: readonly string[];
  readonly publishedAt: number | undefined;
  readonly options: OwnOptions;
}

/** The part of an envelope that people look at. Empty if it cannot be decoded; without the payload if that cannot be read. */
export function readablePart(topic: string, serializer: PayloadSerializer | undefined, envelope: string): ReadablePart {
  const decoded = unlessUnreadable(() => decodeEnvelope(envelope));
  if (!decoded) return { payload: undefined, headers: {}, tags: [], publishedAt: undefined, options: {} };
  const { headers, tags = [], publishedAt, attempts, backoff, timeout, expireAfter } = decoded;
  const options = { attempts, backoff, timeout, expireAfter };
  return { payload: readablePayload(topic, serializer, decoded), headers, tags, publishedAt, options };
}

/** The tags that an envelope names; `undefined` for none, or if it cannot be decoded. */
export function tagsOf(envelope: string): readonly string[] | undefined {
  return unlessUnreadable(() => decodeEnvelope(envelope))?.tags;
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
