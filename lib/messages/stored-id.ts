import { MARK, lengthenUuid, shortenUuid } from './uuid-text.js';

/** Stands between id and key; neither may contain it. */
export const SEPARATOR = '\0';

/**
 * The name under which a message is stored in its partition. Ids are unique among the messages with the same key, and two
 * keys may share a partition; so a key of its own is part of the name. Id first: equal due times are delivered in this
 * order. A UUID is stored in short: Redis keeps each id twice, and most of them are UUIDs.
 *
 * @param short short form of the id, where that is known
 */
export function toStoredId(id: string, key = id, short = shortenUuid(id)): string {
  const name = short ?? (id.startsWith(MARK) ? MARK + id : id);
  return key === id ? name : name + SEPARATOR + key;
}

/** Takes a stored name apart again. */
export function fromStoredId(storedId: string): { id: string; key: string } {
  const end = storedId.indexOf(SEPARATOR);
  const id = idOf(end === -1 ? storedId : storedId.slice(0, end));
  return { id, key: end === -1 ? id : storedId.slice(end + 1) };
}

/** Whether it may be an id that is no text in UTF-8; this character is what stands for its bytes then. */
export function mayBeNoText(storedId: string): boolean {
  return storedId.includes('\uFFFD');
}

function idOf(name: string): string {
  if (!name.startsWith(MARK)) return name;
  // What no client writes is taken as it is, so that it can be told of.
  return name.startsWith(MARK, MARK.length) ? name.slice(MARK.length) : (lengthenUuid(name) ?? name);
}
