import type { Broker } from '../../store/broker.interface.js';
import { NO_TOKEN } from '../../store/deliveries/receipt.js';
import type { Partition } from '../../store/partition.js';
import { SerializationError } from '../../errors/publishing.errors.js';
import { toFailure } from '../../messages/failure.js';
import { Delivery } from './delivery.js';
import type { Verdict } from './verdict.js';

/**
 * Sets that message aside which a claim of a single one would take.
 *
 * @param error for which the claim was refused
 * @returns what became of it; `undefined` if there was none
 */
export async function setFirstAside(
  broker: Pick<Broker, 'messages' | 'deliveries'>,
  partition: Partition,
  error: Error,
): Promise<{ delivery: Delivery; verdict: Verdict } | undefined> {
  const failure = toFailure('undecodable', new SerializationError(`It cannot be claimed: ${error.message}`));
  for (const state of ['in-flight', 'due'] as const) {
    const { messages } = await broker.messages.peek(partition, { state, limit: 1, maxBytes: 1 });
    for (const stored of messages) {
      const storedId = await broker.deliveries.setAside(
        partition,
        { storedId: stored.storedId, token: NO_TOKEN },
        failure,
      );
      if (storedId === undefined) continue;
      const { envelope, deliveries, attempts: attempt, at: dueAt } = stored;
      const claimed = { storedId, envelope, token: NO_TOKEN, delivery: deliveries, attempt, weight: 0, dueAt };
      return { delivery: new Delivery(partition, claimed, 0), verdict: { outcome: { kind: 'dead', failure } } };
    }
  }
  return undefined;
}
