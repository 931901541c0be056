const DIGITS = Buffer.from('0123456789abcdef');
/** In the order of their codes: so short UUIDs are in the order of the UUIDs. */
const LETTERS = Buffer.from('-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz');

const PATTERN = '00000000-0000-0000-0000-000000000000';
const UUID_LENGTH = PATTERN.length;

/** What short UUIDs begin with. */
export const MARK = '.';
const SHORT_LENGTH = MARK.length + 22;

/** Where in a UUID its digits stand, but for the last two, which are left over where three digits make two letters. */
const PLACES = Array.from(PATTERN, (char, place) => (char === '-' ? [] : [place]))
  .flat()
  .slice(0, -2);

/** More than any digit or letter stands for. */
const NEITHER = 0x80;
const digitOf = valuesOf(DIGITS);
const valueOf = valuesOf(LETTERS);

/** Filled anew for each text: putting one together from pieces takes several times as long. */
const uuid = Buffer.from(PATTERN);
const short = Buffer.alloc(SHORT_LENGTH, MARK);

/**
 * A dot, and the 16 bytes of the UUID in base64 without padding, with letters that keep their order.
 *
 * @returns `undefined` where this is not the text of a UUID in small letters: no other has a short form
 */
export function shortenUuid(text: string): string | undefined {
  if (text.length !== UUID_LENGTH || !hasDashes(text)) return undefined;
  let seen = 0;
  let length = MARK.length;
  for (let i = 0; i < PLACES.length; i += 3) {
    const first = digitOf[text.charCodeAt(PLACES[i] as number)] as number;
    const second = digitOf[text.charCodeAt(PLACES[i + 1] as number)] as number;
    const third = digitOf[text.charCodeAt(PLACES[i + 2] as number)] as number;
    seen |= first | second | third;
    short[length++] = LETTERS[((first << 2) | (second >> 2)) & 0x3f] as number;
    short[length++] = LETTERS[((second << 4) | third) & 0x3f] as number;
  }
  const first = digitOf[text.charCodeAt(UUID_LENGTH - 2)] as number;
  const second = digitOf[text.charCodeAt(UUID_LENGTH - 1)] as number;
  short[length++] = LETTERS[((first << 2) | (second >> 2)) & 0x3f] as number;
  short[length] = LETTERS[(second << 4) & 0x3f] as number;
  return (seen | first | second) < NEITHER ? short.toString('latin1') : undefined;
}

/** @returns the UUID that has this short form, `undefined` where there is none */
export function lengthenUuid(text: string): string | undefined {
  if (text.length !== SHORT_LENGTH || !text.startsWith(MARK)) return undefined;
  let seen = 0;
  let next = MARK.length;
  for (let i = 0; i < PLACES.length; i += 3) {
    const first = valueOf[text.charCodeAt(next++)] as number;
    const second = valueOf[text.charCodeAt(next++)] as number;
    seen |= first | second;
    uuid[PLACES[i] as number] = DIGITS[(first >> 2) & 0xf] as number;
    uuid[PLACES[i + 1] as number] = DIGITS[((first << 2) | (second >> 4)) & 0xf] as number;
    uuid[PLACES[i + 2] as number] = DIGITS[second & 0xf] as number;
  }
  const first = valueOf[text.charCodeAt(next++)] as number;
  const second = valueOf[text.charCodeAt(next)] as number;
  uuid[UUID_LENGTH - 2] = DIGITS[(first >> 2) & 0xf] as number;
  uuid[UUID_LENGTH - 1] = DIGITS[((first << 2) | (second >> 4)) & 0xf] as number;
  const spare = second & 0xf;
  return (seen | first | second) < NEITHER && spare === 0 ? uuid.toString('latin1') : undefined;
}

/** What each of these characters stands for; for all others that a text may hold {@link NEITHER}. */
function valuesOf(characters: Buffer): Uint8Array {
  const values = new Uint8Array(0x10000).fill(NEITHER);
  characters.forEach((code, value) => (values[code] = value));
  return values;
}

function hasDashes(text: string): boolean {
  return text[8] === '-' && text[13] === '-' && text[18] === '-' && text[23] === '-';
}
