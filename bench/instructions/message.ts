import { randomUUID } from 'node:crypto';
import { toStoredId } from '../../lib/messages/stored-id.js';
import { payload } from '../contenders/payload.js';

/** Returns the next message as it is stored. */
export function messageOf(key?: string): { readonly id: string; readonly envelope: string } {
  const now = Date.now();
  return { id: toStoredId(randomUUID(), key), envelope: JSON.stringify([now, payload(now, 0)]) };
}
