import type { StandardSchemaV1 } from '@standard-schema/spec';
import { InvalidPayloadError, SchemaError } from '../errors/publishing.errors.js';
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

/**
 * Checks a payload against the schema of its topic.
 *
 * @param payload as JSON gives it back, which is what the handler would get
 * @returns the schema's output
 * @throws InvalidPayloadError with what the schema found wrong
 * @throws what the schema itself throws
 */
export async function checkPayload(topic: string, schema: StandardSchemaV1, payload: unknown): Promise<unknown> {
  const result = await schema['~standard'].validate(payload);
  if (result.issues) throw new InvalidPayloadError(topic, result.issues);
  return result.value;
}
