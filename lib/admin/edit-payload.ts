import type { Broker, CallId, EditResult, StoredMessage } from '../broker/broker.interface.js';
import type { MessageChanges } from '../topics/message-changes.js';
import type { MessageName } from '../messages/assert-id.js';
import { encodeEnvelope, withPayload } from '../messages/envelope.js';
import { type PayloadSerializer, toStored } from '../messages/serializer.js';

type EditedStore = Pick<Broker, 'get' | 'edit'>;

export interface PayloadEdit {
  readonly topic: string;
  readonly id: MessageName;
  readonly payload: unknown;
  readonly serializer: PayloadSerializer | undefined;
}

/**
 * Replaces the payload of a message that waits; begins anew where somebody else has replaced it meanwhile.
 *
 * @throws SerializationError, PayloadTooLargeError
 */
export async function editPayload(
  store: EditedStore,
  changes: MessageChanges,
  { topic, id, payload, serializer }: PayloadEdit,
): Promise<boolean> {
  // Whatever cannot be stored is refused before anything is asked for.
  const replacement = toStored(topic, serializer, payload);
  encodeEnvelope({ ...replacement, publishedAt: 0 });
  let result: EditResult | 'not-found';
  do {
    let read: { readonly call: CallId; readonly stored: StoredMessage | undefined } | undefined;
    result = await changes.change<EditResult>(topic, id, async (partition, call, storedId) => {
      // The repeat of a call has to be the same call: what it has written itself must not be what it expects now.
      if (read?.call !== call) read = { call, stored: await store.get(partition, storedId) };
      const { stored } = read;
      if (!stored) return 'not-found';
      if (stored.state !== 'scheduled') return 'not-waiting';
      const { envelope: expected } = stored;
      return store.edit(partition, call, { storedId, expected, envelope: withPayload(expected, replacement) });
    });
  } while (result === 'changed');
  return result === 'edited';
}
