import type { EnvelopeEditResult } from '../store/messages/change-message.js';
import type { StoredMessage } from '../store/messages/stored-message.js';
import type { CallId } from '../store/partition.js';
import { SerializationError } from '../errors/publishing.errors.js';
import { decodeEnvelope, encodeEnvelope, withPayload } from '../messages/envelope.js';
import type { MessageRef } from '../messages/message-ref.js';
import { type StoredPayload, toStored } from '../messages/serializer.js';
import type { MessageChanges } from '../producer/message-changes.js';
import type { AdminDependencies } from './admin-dependencies.js';

/**
 * Result of a call to edit a message. `dead`: it is a dead letter, which `admin.requeue()` schedules again, with another payload if you
 * like.
 *
 * @publicApi
 */
export type EditResult = 'edited' | 'in-flight' | 'dead' | 'not-found';

/**
 * Replaces the payload of a waiting message; starts over if someone else has replaced it in the meantime.
 *
 * @throws SerializationError, PayloadTooLargeError
 */
export async function editPayload(
  { broker, serializerOf }: AdminDependencies,
  changes: MessageChanges,
  topic: string,
  ref: MessageRef,
  payload: unknown,
): Promise<EditResult> {
  // A payload that cannot be stored is refused before the broker is asked for anything.
  const replacement = toStored(topic, serializerOf(topic), payload);
  encodeEnvelope({ ...replacement, publishedAt: 0 });
  let result: EditResult | EnvelopeEditResult;
  do {
    let read: { readonly call: CallId; readonly stored: StoredMessage | undefined } | undefined;
    result = await changes.change<EditResult | EnvelopeEditResult>(topic, ref, async (partition, call, storedId) => {
      // The repeat of a call has to be the same call: it must not expect what it has written itself.
      if (read?.call !== call) read = { call, stored: await broker.messages.get(partition, storedId) };
      const { stored } = read;
      if (!stored || stored.state === 'finished') return 'not-found';
      if (stored.state !== 'scheduled') return stored.state;
      const { envelope: expected } = stored;
      return broker.messages.edit(partition, call, {
        storedId,
        expected,
        envelope: withPayload(expected, replacement),
      });
    });
  } while (result === 'changed');
  return result;
}

/**
 * Returns the envelope with another payload. If it cannot be decoded, nothing of it can be kept, and the result is a new one.
 *
 * @param now the broker's clock, epoch milliseconds
 * @throws SerializationError, PayloadTooLargeError
 */
export function editedEnvelope(envelope: string, replacement: StoredPayload, now: number): string {
  return isReadable(envelope)
    ? withPayload(envelope, replacement)
    : encodeEnvelope({ ...replacement, publishedAt: now });
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
