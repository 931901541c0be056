import { MARK, lengthenUuid, shortenUuid } from './uuid-text.js';

/** Stands between id and key; neither may contain it. */
export const SEPARATOR = '\0';

/**
 * The name under which a message is stored in its partition. Ids are unique among the messages with the same key, and two
 * keys may share a partition, so the name includes the key if it differs from the id. The id comes first, since messages with
 * equal due times are delivered in the order of their names. A UUID is stored in short, since Redis keeps each id twice and
 * most ids are UUIDs; as a key too, so that a key is written like the id that is its own key.
 *
 * @param short short form of the id, if it is known
 */
export function toStoredId(id: string, key = id, short = shortenUuid(id)): string {
  const name = nameOf(id, short);
  return key === id ? name : name + SEPARATOR + nameOf(key, shortenUuid(key));
}

/** Takes a stored name apart again. */
export function fromStoredId(storedId: string): { id: string; key: string } {
  const end = storedId.indexOf(SEPARATOR);
  const id = textOf(end === -1 ? storedId : storedId.slice(0, end));
  return { id, key: end === -1 ? id : textOf(storedId.slice(end + 1)) };
}

/** Whether the id may not be UTF-8 text; this character replaces the bytes that are not. */
export function mayBeNoText(storedId: string): boolean {
  return storedId.includes('\uFFFD');
}

function nameOf(text: string, short: string | undefined): string {
  return short ?? (text.startsWith(MARK) ? MARK + text : text);
}

function textOf(name: string): string {
  if (!name.startsWith(MARK)) return name;
  // A form that no client writes is taken as it is, so that it can be reported.
  return name.startsWith(MARK, MARK.length) ? name.slice(MARK.length) : (lengthenUuid(name) ?? name);
}
