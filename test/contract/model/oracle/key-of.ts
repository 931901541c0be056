import { fromStoredId } from '../../../../lib/messages/stored-id.js';

/** The key of a message; the id if it has none of its own. */
export function keyOf(storedId: string): string {
  return fromStoredId(storedId).key;
}
