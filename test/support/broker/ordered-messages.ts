import type { ClaimedMessage } from '../../../lib/store/deliveries/claim.js';
import type { NewMessage } from '../../../lib/store/messages/publish.js';
import { ACK, type BrokerBed } from './broker-bed.js';

/** Stored ids of one key: what has the key as its id, and another one. */
export const FIRST = 'k';
export const SECOND = 'b\0k';
export const THIRD = 'a\0k';
export const OTHER = 'other';

export const due = (at: number): Partial<NewMessage> => ({ due: { at } });

/** Claims all that may be claimed. */
export async function claimAll(bed: BrokerBed): Promise<ClaimedMessage[]> {
  return (await bed.claim()).messages;
}

/** The same; answers the stored ids. */
export async function claimable(bed: BrokerBed): Promise<string[]> {
  return (await claimAll(bed)).map(({ storedId }) => storedId);
}

/** Claims and acknowledges one after another until nothing comes any more. */
export async function handledInTurn(bed: BrokerBed): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const { messages } = await bed.claim();
    if (messages.length === 0) return ids;
    for (const claimed of messages) {
      ids.push(claimed.storedId);
      await bed.settle(claimed, ACK);
    }
  }
}

export async function publishAll(bed: BrokerBed, ...ids: string[]): Promise<void> {
  for (const id of ids) await bed.publish(id);
}

export async function isBlockedBy(bed: BrokerBed, id: string): Promise<string | undefined> {
  return (await bed.get(id))?.blockedBy;
}

export async function deathOf(bed: BrokerBed, storedId: string): Promise<{ storedId: string; diedAt: number }> {
  const { at } = (await bed.get(storedId)) as { at: number };
  return { storedId, diedAt: at };
}

export async function requeue(bed: BrokerBed, storedId: string): Promise<void> {
  await bed.broker.deadLetters.requeueDead(bed.partition, bed.nextCall(), [await deathOf(bed, storedId)], 0);
}
