import type { StandardSchemaV1 } from '@standard-schema/spec';
import { InvalidPayloadError, SchemaError } from '../errors/publishing.errors.js';
import { decodeEnvelope } from './envelope.js';
import { type PayloadSerializer, fromStored } from './serializer.js';

/** Rules for checking the payloads of a topic. */
export interface PayloadRules {
  readonly topic: string;
  readonly schema: StandardSchemaV1;
  readonly serializer: PayloadSerializer | undefined;
}

/**
 * Checks the payload that the handler would get, which can differ from the published one: without a serializer, JSON turns a `Date` into a
 * string.
 *
 * @throws InvalidPayloadError, SchemaError
 * @throws SerializationError if the serializer cannot read its own output
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
 * @param payload as it is after JSON, and as the handler would get it
 * @returns the schema's output
 * @throws InvalidPayloadError with the issues that the schema found
 * @throws any error of the schema itself
 */
export async function checkPayload(topic: string, schema: StandardSchemaV1, payload: unknown): Promise<unknown> {
  const result = await schema['~standard'].validate(payload);
  if (result.issues) throw new InvalidPayloadError(topic, result.issues);
  return result.value;
}
