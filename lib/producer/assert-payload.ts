import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { NewMessage } from '../broker/broker.interface.js';
import { InvalidPayloadError } from '../errors/invalid-payload.error.js';
import { SchemaError } from '../errors/schema.error.js';
import { checkPayload } from '../message/check-payload.js';
import { decodeEnvelope } from '../message/envelope.js';

/**
 * Checks what the handler would be given, which is not always what was published: JSON makes a string of a `Date`.
 *
 * @throws InvalidPayloadError, SchemaError
 */
export async function assertPayload(
  topic: string,
  schema: StandardSchemaV1,
  { envelope }: Pick<NewMessage, 'envelope'>,
): Promise<void> {
  const { payload } = decodeEnvelope(envelope);
  try {
    await checkPayload(topic, schema, payload);
  } catch (error) {
    throw error instanceof InvalidPayloadError ? error : new SchemaError(topic, error);
  }
}
