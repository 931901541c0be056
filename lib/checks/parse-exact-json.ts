import { SerializationError } from '../errors/publishing.errors.js';
import { jsonPath } from './json-path.js';

const SMALL_A = 97;

/** Whether a UTF-16 unit is a surrogate: two of them make a character. */
function isHalf(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}

export function isWhole(first: number, second: number | undefined): boolean {
  return first < 0xdc00 && second !== undefined && second >= 0xdc00 && second <= 0xdfff;
}

function escapeOf(unit: number): string {
  return `\\u${unit.toString(16)}`;
}

/** Returns the UTF-16 unit that `\u` and four digits stand for; `undefined` if there are none. */
function unitAt(text: string, at: number): number | undefined {
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

const FORM = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/**
 * Whether a JSON number has the same digits after it was read as a double and written again: not one above 2^53 between two doubles, -0 or
 * 1e400.
 */
function isExactNumber(text: string): boolean {
  const written = String(Number(text));
  // Nearly all are written in the usual form.
  return written === text || decimalOf(written) === decimalOf(text);
}

/** Returns the same text for every notation of a decimal number; any other text is returned unchanged. */
function decimalOf(text: string): string {
  const [, sign, whole = '', part = '', exponent = '0'] = FORM.exec(text) ?? [];
  if (sign === undefined) return text;
  const digits = whole + part;
  // By hand: a regular expression for trailing zeros takes quadratic time where more digits follow.
  let begin = 0;
  while (digits.charCodeAt(begin) === ZERO) begin++;
  let end = digits.length;
  while (end > begin && digits.charCodeAt(end - 1) === ZERO) end--;
  if (begin === end) return `${sign}0`;
  return `${sign}${digits.slice(begin, end)}e${whole.length - begin + Number(exponent)}`;
}

/** Deepest allowed nesting: readers in other languages, such as PHP, give up soon after. */
export const MAX_DEPTH = 512;

/** Most characters of a number that an error shows. */
const MAX_SHOWN = 60;

/** Number of characters up to which a decimal number without exponent survives as a double unchanged. */
const SURELY_EXACT = 15;

/** Error for a text that is not JSON. The message gives the position, and shows none of the text, which may be secret. */
export class NoJsonError extends Error {}

/**
 * Reads JSON, and refuses text that would change once it is stored and written again: numbers whose digits would change, names that an
 * object has twice, halves of characters, and values nested more than {@link MAX_DEPTH} deep. Skips a byte order mark.
 *
 * @param given a text, or its bytes in UTF-8
 * @param root start of the paths in errors, such as `payload`; can be empty
 * @throws NoJsonError
 * @throws SerializationError with the path of a value that would change
 */
export function parseExactJson(given: string | Uint8Array, root = ''): unknown {
  const json = typeof given === 'string' ? given.replace(/^\ufeff/, '') : decoded(given);
  const scan = new JsonScan(json, root);
  const { members } = scan.run();
  const value: unknown = JSON.parse(json);
  // Of a repeated name, only the last value is left.
  if (members !== membersOf(value)) new JsonScan(json, root, { findsRepeated: true }).run();
  return value;
}

/** Decoder of UTF-8, which skips a byte order mark. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

function decoded(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new NoJsonError('It is no UTF-8.');
  }
}

function membersOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let members = 0;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) members += membersOf(value[i]);
    return members;
  }
  // A list of names or values takes longer, three times as long for a large object.
  for (const name in value) members += 1 + membersOf((value as Record<string, unknown>)[name]);
  return members;
}

const QUOTE = 34;
const COMMA = 44;
const MINUS = 45;
const POINT = 46;
const ZERO = 48;
const COLON = 58;
const OPEN_ARRAY = 91;
const BACKSLASH = 92;
const CLOSE_ARRAY = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;
const FIRST_PRINTABLE = 32;
/** The bit that distinguishes lowercase from uppercase ASCII letters. */
const SMALL = 32;
const SMALL_E = 101;
const SMALL_U = 117;

/** Place at which no name begins. */
const NO_NAME = 0;

const ESCAPED: ReadonlySet<number> = new Set(Array.from('"\\/bfnrt', (letter) => letter.charCodeAt(0)));

/** Scans a text once, token by token; records paths as places in the text. */
class JsonScan {
  readonly #text: string;
  readonly #root: string;
  readonly #findsRepeated: boolean;
  #at = 0;
  #depth = 0;
  #members = 0;
  /** For each level, the place where the member's name begins, or the complement of the index in an array. */
  readonly #path: number[] = [];

  constructor(text: string, root: string, { findsRepeated = false } = {}) {
    this.#text = text;
    this.#root = root;
    this.#findsRepeated = findsRepeated;
  }

  /** @throws NoJsonError, SerializationError */
  run(): { readonly members: number } {
    this.#value(this.#next());
    if (!Number.isNaN(this.#next())) throw this.#noJson();
    return { members: this.#members };
  }

  /** Returns the code of the next character that is not white space; NaN at the end. */
  #next(): number {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return code;
      this.#at++;
    }
  }

  #value(code: number): void {
    if (code === QUOTE) this.#string();
    else if (code === OPEN_OBJECT) this.#object();
    else if (code === OPEN_ARRAY) this.#array();
    else if (code === MINUS || isDigit(code)) this.#number();
    else this.#word();
  }

  #object(): void {
    const level = this.#enter();
    const names = this.#findsRepeated ? new Set<string>() : undefined;
    let code = this.#next();
    if (code === CLOSE_OBJECT) return this.#leave();
    for (;;) {
      if (code !== QUOTE) throw this.#noJson();
      const begin = this.#at;
      this.#path[level] = NO_NAME;
      this.#string();
      this.#path[level] = begin;
      if (names) this.#assertNew(names, begin);
      this.#members++;
      if (this.#next() !== COLON) throw this.#noJson();
      this.#at++;
      this.#value(this.#next());
      code = this.#next();
      if (code === CLOSE_OBJECT) return this.#leave();
      if (code !== COMMA) throw this.#noJson();
      this.#at++;
      code = this.#next();
    }
  }

  #array(): void {
    const level = this.#enter();
    let code = this.#next();
    if (code === CLOSE_ARRAY) return this.#leave();
    for (let place = 0; ; place++) {
      this.#path[level] = ~place;
      this.#value(code);
      code = this.#next();
      if (code === CLOSE_ARRAY) return this.#leave();
      if (code !== COMMA) throw this.#noJson();
      this.#at++;
      code = this.#next();
    }
  }

  /** @returns number of levels above */
  #enter(): number {
    if (this.#depth === MAX_DEPTH) throw this.#wouldChange(`is nested more than ${MAX_DEPTH} deep. Send it in parts.`);
    this.#at++;
    return this.#depth++;
  }

  #leave(): void {
    this.#at++;
    this.#depth--;
  }

  #string(): void {
    const text = this.#text;
    for (let at = this.#at + 1; ; at++) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) {
        this.#at = at + 1;
        return;
      }
      if (code === BACKSLASH) at = this.#escape(at);
      else if (!(code >= FIRST_PRINTABLE)) throw this.#noJson(at);
      else if (isHalf(code) && !isWhole(code, text.charCodeAt(++at))) throw this.#half(escapeOf(code));
    }
  }

  /** @returns place where it ends */
  #escape(at: number): number {
    const text = this.#text;
    const letter = text.charCodeAt(at + 1);
    if (letter !== SMALL_U) {
      if (!ESCAPED.has(letter)) throw this.#noJson(at + 1);
      return at + 1;
    }
    const unit = unitAt(text, at);
    if (unit === undefined) throw this.#noJson(at + 2);
    if (!isHalf(unit)) return at + 5;
    if (!isWhole(unit, unitAt(text, at + 6))) throw this.#half(text.slice(at, at + 6));
    return at + 11;
  }

  #half(escape: string): SerializationError {
    return this.#wouldChange(`has ${escape}, which is half of a character. Send whole ones.`);
  }

  #number(): void {
    const text = this.#text;
    const begin = this.#at;
    if (text.charCodeAt(begin) === MINUS) this.#at++;
    const isZero = text.charCodeAt(this.#at) === ZERO;
    if (isZero) this.#at++;
    else this.#digits();
    if (text.charCodeAt(this.#at) === POINT) {
      this.#at++;
      this.#digits();
    }
    let isPlain = this.#at - begin <= SURELY_EXACT && !(isZero && text.charCodeAt(begin) === MINUS);
    if ((text.charCodeAt(this.#at) | SMALL) === SMALL_E) {
      isPlain = false;
      this.#at++;
      if (text[this.#at] === '+' || text[this.#at] === '-') this.#at++;
      this.#digits();
    }
    if (isPlain) return;
    const number = text.slice(begin, this.#at);
    if (isExactNumber(number)) return;
    const shown = number.length > MAX_SHOWN ? `${number.slice(0, MAX_SHOWN)}…` : number;
    throw this.#wouldChange(
      `is ${shown}, which would come back as ${JSON.stringify(Number(number))}. Send it as a string.`,
    );
  }

  #digits(): void {
    const begin = this.#at;
    while (isDigit(this.#text.charCodeAt(this.#at))) this.#at++;
    if (this.#at === begin) throw this.#noJson();
  }

  #word(): void {
    const word = ['true', 'false', 'null'].find((one) => this.#text.startsWith(one, this.#at));
    if (word === undefined) throw this.#noJson();
    this.#at += word.length;
  }

  #assertNew(names: Set<string>, begin: number): void {
    const name = this.#nameAt(begin);
    if (names.has(name)) throw this.#wouldChange('is there twice. Send it once.');
    names.add(name);
  }

  #nameAt(begin: number): string {
    let end = begin + 1;
    for (; this.#text.charCodeAt(end) !== QUOTE; end++) if (this.#text.charCodeAt(end) === BACKSLASH) end++;
    return JSON.parse(this.#text.slice(begin, end + 1)) as string;
  }

  #noJson(at = this.#at): NoJsonError {
    if (at >= this.#text.length) return new NoJsonError('It ends too early.');
    let line = 1;
    let begin = 0;
    for (let end = this.#text.indexOf('\n'); end >= 0 && end < at; end = this.#text.indexOf('\n', begin)) {
      begin = end + 1;
      line++;
    }
    return new NoJsonError(`It is wrong at line ${line}, column ${at - begin + 1}.`);
  }

  #wouldChange(text: string): SerializationError {
    const places = this.#path.slice(0, this.#depth).filter((at) => at !== NO_NAME);
    const keys = places.map((at) => (at < 0 ? ~at : this.#nameAt(at)));
    return new SerializationError(`${jsonPath(this.#root, keys) || 'The text'} ${text}`);
  }
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= ZERO + 9;
}
