/** Characters that move a cursor, change colours or break a line. */
const CONTROLS = /[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069]/gu;

/** Returns a text of a message as one line that does nothing to the terminal, whatever was published. */
export function shown(text: string): string {
  return text.replaceAll(CONTROLS, escaped);
}

/** Does the same with JSON, whose strings can hold characters that JSON itself does not escape. The meaning stays the same. */
export function shownJson(json: string): string {
  return json.replaceAll(CONTROLS, codeOf);
}

/** Does the same, but keeps line breaks. */
export function shownLines(text: string): string {
  return text.split('\n').map(shown).join('\n');
}

/** Returns a payload or the like in one line; `-` if there is none. */
export function shownValue(value: unknown): string {
  return value === undefined ? '-' : shown(JSON.stringify(value));
}

/** Returns the text for a value; `undefined` if it is unknown. */
export function told<T>(value: T | undefined, tell: (value: T) => string): string | undefined {
  return value === undefined ? undefined : tell(value);
}

export function shownNumber(value: number): string {
  return value.toLocaleString('en-US');
}

/** Returns a count with its noun, such as `1 message` and `2,000 messages`. */
export function shownCount(count: number, singular: string): string {
  return `${shownNumber(count)} ${singular}${count === 1 ? '' : 's'}`;
}

/** Characters that take two columns of a terminal: Chinese, Japanese, Korean, full-width forms and emoji. */
const WIDE =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uA960-\uA97C\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6\u{20000}-\u{3FFFD}\p{Emoji_Presentation}]/u;

/** Characters that take no column. */
const NARROW = /[\p{Mn}\p{Me}\p{Cf}]/u;

const ASCII = /^[\x20-\x7E]*$/;

/** Returns the number of terminal columns that a text takes. */
export function columnsOf(text: string): number {
  if (ASCII.test(text)) return text.length;
  let columns = 0;
  for (const character of text) columns += columnsOfOne(character);
  return columns;
}

/** @returns the part that fits into the given number of columns */
export function cut(text: string, columns: number): string {
  if (columnsOf(text) <= columns) return text;
  let [kept, left] = ['', columns - 1];
  for (const character of text) {
    left -= columnsOfOne(character);
    if (left < 0) break;
    kept += character;
  }
  return `${kept}…`;
}

function columnsOfOne(character: string): number {
  if (NARROW.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}

function escaped(character: string): string {
  if (character === '\n') return '\\n';
  if (character === '\t') return '\\t';
  return codeOf(character);
}

function codeOf(character: string): string {
  return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;
}
