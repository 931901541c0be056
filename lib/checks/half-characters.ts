const ZERO = 48;
const BACKSLASH = 92;
const SMALL_A = 97;
const SMALL_U = 117;

/** The bit that tells small letters of ASCII from large ones. */
const SMALL = 32;

/** Whether a unit of UTF-16 is a surrogate: two of them are a character. */
export function isHalf(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}

export function isWhole(first: number, second: number | undefined): boolean {
  return first < 0xdc00 && second !== undefined && second >= 0xdc00 && second <= 0xdfff;
}

export function escapeOf(unit: number): string {
  return `\\u${unit.toString(16)}`;
}

/** The unit of UTF-16 that `\u` and four digits stand for; `undefined` if they do not stand there. */
export function unitAt(text: string, at: number): number | undefined {
  if (text.charCodeAt(at) !== BACKSLASH || text.charCodeAt(at + 1) !== SMALL_U) return undefined;
  let unit = 0;
  for (let i = at + 2; i < at + 6; i++) {
    const code = text.charCodeAt(i);
    const letter = (code | SMALL) - SMALL_A;
    if (code >= ZERO && code <= ZERO + 9) unit = unit * 16 + code - ZERO;
    else if (letter >= 0 && letter < 6) unit = unit * 16 + 10 + letter;
    else return undefined;
  }
  return unit;
}
