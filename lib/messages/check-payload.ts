import type { StandardSchemaV1 } from '@standard-schema/spec';
import { InvalidPayloadError } from '../errors/publishing.errors.js';

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
