import type { StandardSchemaV1 } from '@standard-schema/spec';
import { InvalidPayloadError, SchemaError } from '../errors/publishing.errors.js';
import { checkPayload } from './check-payload.js';
import { decodeEnvelope } from './envelope.js';
import { type PayloadSerializer, fromStored } from './serializer.js';

/** How the payloads of a topic are checked. */
export interface PayloadRules {
  readonly topic: string;
  readonly schema: StandardSchemaV1;
  readonly serializer: PayloadSerializer | undefined;
}

/**
 * Checks what the handler would get, which is not always what was published: without a serializer, JSON turns a `Date` into
 * a string.
 *
 * @throws InvalidPayloadError, SchemaError
 * @throws SerializationError if the serializer cannot read what it has made
 */
export async function assertPayload({ topic, schema, serializer }: PayloadRules, envelope: string): Promise<void> {
  const payload = fromStored(topic, serializer, decodeEnvelope(envelope));
  try {
    await checkPayload(topic, schema, payload);
  } catch (error) {
    throw error instanceof InvalidPayloadError ? error : new SchemaError(topic, error);
  }
}
