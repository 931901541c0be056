/** What moves a cursor, changes colours or breaks a line. */
const CONTROLS = /[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069]/gu;

/** A text of a message as one line: whatever somebody has published, it does nothing to the terminal. */
export function shown(text: string): string {
  return text.replaceAll(CONTROLS, escaped);
}

/** The same of JSON, whose texts may hold what JSON itself does not escape. It means the same. */
export function shownJson(json: string): string {
  return json.replaceAll(CONTROLS, codeOf);
}

/** The same with its line breaks. */
export function shownLines(text: string): string {
  return text.split('\n').map(shown).join('\n');
}

/** A payload or the like in one line; `-` if there is none. */
export function shownValue(value: unknown): string {
  return value === undefined ? '-' : shown(JSON.stringify(value));
}

/** What is told of a value; `undefined` if it is not known. */
export function told<T>(value: T | undefined, tell: (value: T) => string): string | undefined {
  return value === undefined ? undefined : tell(value);
}

export function shownNumber(value: number): string {
  return value.toLocaleString('en-US');
}

/** Such as `1 message` and `2,000 messages`. */
export function shownCount(count: number, singular: string): string {
  return `${shownNumber(count)} ${singular}${count === 1 ? '' : 's'}`;
}

/** @returns at most `length` characters */
export function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, Math.max(0, length - 1))}…` : text;
}

function escaped(character: string): string {
  if (character === '\n') return '\\n';
  if (character === '\t') return '\\t';
  return codeOf(character);
}

function codeOf(character: string): string {
  return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;
}
