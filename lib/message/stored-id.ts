/** Stands between id and key; neither may contain it. */
export const SEPARATOR = '\0';

/**
 * The name under which a message is stored in its partition. Ids are unique among the messages with the same key, and two
 * keys may share a partition; so a key of its own is part of the name. Id first: equal due times are delivered in this
 * order.
 */
export function toStoredId(id: string, key: string): string {
  return key === id ? id : id + SEPARATOR + key;
}

/** Takes a stored name apart again. */
export function fromStoredId(storedId: string): { id: string; key: string } {
  const end = storedId.indexOf(SEPARATOR);
  return end === -1 ? { id: storedId, key: storedId } : { id: storedId.slice(0, end), key: storedId.slice(end + 1) };
}
