/** A UUID as text, in its usual and its stored form. */
export interface UuidText {
  /** Usual form, with dashes and lowercase letters. */
  readonly long: string;
  /** Stored form: a dot, and the bytes in base64 without padding, with letters that keep their order. */
  readonly short: string;
}

export const UUID_BYTES = 16;
/** Index of the last byte. Three bytes make four letters; the last byte is left over and makes two, the second with unused bits. */
const LAST = UUID_BYTES - 1;

/** First character of short UUIDs. */
export const MARK = '.';

const DASH = '-'.charCodeAt(0);
const LONG = '00000000-0000-0000-0000-000000000000';
const LONG_LENGTH = LONG.length;
const SHORT_LENGTH = MARK.length + 22;

const DIGITS = Buffer.from('0123456789abcdef');
/** Position of the two digits of each byte. */
const PLACES = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
/** Letters of short UUIDs in the order of their codes, so that these sort like the long ones. */
const LETTERS = Buffer.from('-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz');

/** Larger than the value of any digit or letter. */
const NEITHER = 0x80;
const digitOf = valuesOf(DIGITS);
const valueOf = valuesOf(LETTERS);

/** Both forms, one after the other. Reused for each UUID, since joining texts takes several times as long. */
const forms = Buffer.from(LONG + MARK.padEnd(SHORT_LENGTH));
const read = new Uint8Array(UUID_BYTES);
/** Text to decode, as bytes: reading a text character by character can take twice as long. */
const given = Buffer.alloc(LONG_LENGTH);

/** @param bytes {@link UUID_BYTES} of them */
export function toUuidText(bytes: Uint8Array): UuidText {
  writeLong(bytes);
  writeShort(bytes);
  const both = forms.toString('latin1');
  return { long: both.slice(0, LONG_LENGTH), short: both.slice(LONG_LENGTH) };
}

/** @returns `undefined` if this is not a UUID in lowercase letters, since no other text has a short form */
export function shortenUuid(long: string): string | undefined {
  if (!readLong(long)) return undefined;
  writeShort(read);
  return forms.toString('latin1', LONG_LENGTH);
}

/** @returns `undefined` if this is not the short form of a UUID */
export function lengthenUuid(short: string): string | undefined {
  if (!readShort(short)) return undefined;
  writeLong(read);
  return forms.toString('latin1', 0, LONG_LENGTH);
}

function writeLong(bytes: Uint8Array): void {
  for (let i = 0; i < UUID_BYTES; i++) {
    const byte = bytes[i] as number;
    const place = PLACES[i] as number;
    forms[place] = DIGITS[byte >> 4] as number;
    forms[place + 1] = DIGITS[byte & 0xf] as number;
  }
}

function readLong(long: string): boolean {
  if (long.length !== LONG_LENGTH || given.write(long) !== LONG_LENGTH) return false;
  if (given[8] !== DASH || given[13] !== DASH || given[18] !== DASH || given[23] !== DASH) return false;
  let seen = 0;
  for (let i = 0; i < UUID_BYTES; i++) {
    const place = PLACES[i] as number;
    const high = digitOf[given[place] as number] as number;
    const low = digitOf[given[place + 1] as number] as number;
    seen |= high | low;
    read[i] = (high << 4) | low;
  }
  return seen < NEITHER;
}

function writeShort(bytes: Uint8Array): void {
  let at = LONG_LENGTH + MARK.length;
  for (let i = 0; i < LAST; i += 3) {
    const bits = ((bytes[i] as number) << 16) | ((bytes[i + 1] as number) << 8) | (bytes[i + 2] as number);
    forms[at++] = LETTERS[bits >> 18] as number;
    forms[at++] = LETTERS[(bits >> 12) & 0x3f] as number;
    forms[at++] = LETTERS[(bits >> 6) & 0x3f] as number;
    forms[at++] = LETTERS[bits & 0x3f] as number;
  }
  const last = bytes[LAST] as number;
  forms[at++] = LETTERS[last >> 2] as number;
  forms[at] = LETTERS[(last & 0x3) << 4] as number;
}

function readShort(short: string): boolean {
  if (short.length !== SHORT_LENGTH || !short.startsWith(MARK) || given.write(short) !== SHORT_LENGTH) return false;
  let at = MARK.length;
  let seen = 0;
  for (let i = 0; i < LAST; i += 3) {
    const first = valueOf[given[at++] as number] as number;
    const second = valueOf[given[at++] as number] as number;
    const third = valueOf[given[at++] as number] as number;
    const fourth = valueOf[given[at++] as number] as number;
    seen |= first | second | third | fourth;
    read[i] = (first << 2) | (second >> 4);
    read[i + 1] = (second << 4) | (third >> 2);
    read[i + 2] = (third << 6) | fourth;
  }
  const first = valueOf[given[at++] as number] as number;
  const second = valueOf[given[at] as number] as number;
  read[LAST] = (first << 2) | (second >> 4);
  const spare = second & 0xf;
  return (seen | first | second) < NEITHER && spare === 0;
}

/** Returns the value of each of these characters, by its byte; {@link NEITHER} for all other bytes. */
function valuesOf(characters: Buffer): Uint8Array {
  const values = new Uint8Array(0x100).fill(NEITHER);
  characters.forEach((code, value) => (values[code] = value));
  return values;
}

/** Separator of id and key; neither can contain it. */
export const SEPARATOR = '\0';

/**
 * Returns the name under which a message is stored in its partition. Ids are unique among the messages with the same key, and two keys can
 * share a partition, so the name includes the key if it differs from the id. The id comes first, since messages with equal due times are
 * delivered in the order of their names. A UUID is stored in its short form, since Redis keeps each id twice and most ids are UUIDs; as a
 * key too, so that a key is written like the id that is its own key.
 *
 * @param short the id's short form, if it is known
 */
export function toStoredId(id: string, key = id, short = shortenUuid(id)): string {
  const name = nameOf(id, short);
  return key === id ? name : name + SEPARATOR + nameOf(key, shortenUuid(key));
}

/** Splits a stored name into id and key. */
export function fromStoredId(storedId: string): { id: string; key: string } {
  const end = storedId.indexOf(SEPARATOR);
  const id = textOf(end === -1 ? storedId : storedId.slice(0, end));
  return { id, key: end === -1 ? id : textOf(storedId.slice(end + 1)) };
}

/** Whether the id may not be valid UTF-8; this character replaces invalid bytes. */
export function mayBeNoText(storedId: string): boolean {
  return storedId.includes('\uFFFD');
}

function nameOf(text: string, short: string | undefined): string {
  return short ?? (text.startsWith(MARK) ? MARK + text : text);
}

function textOf(name: string): string {
  if (!name.startsWith(MARK)) return name;
  // A form that no client writes stays unchanged, so that it can be reported.
  return name.startsWith(MARK, MARK.length) ? name.slice(MARK.length) : (lengthenUuid(name) ?? name);
}
