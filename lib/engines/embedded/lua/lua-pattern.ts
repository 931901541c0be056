import { LuaError } from './lua-value.js';

/** Meanings of the letters behind `%`, as the inside of a set of a regular expression. */
const CLASSES: Readonly<Record<string, string>> = {
  a: 'A-Za-z',
  c: '\\x00-\\x1f\\x7f',
  d: '0-9',
  l: 'a-z',
  p: '!-\\/:-@\\[-`{-~',
  s: ' \\t\\n\\v\\f\\r',
  u: 'A-Z',
  w: 'A-Za-z0-9',
  x: '0-9A-Fa-f',
  z: '\\0',
};

const QUANTIFIERS: Readonly<Record<string, string>> = { '*': '*', '+': '+', '?': '?', '-': '*?' };

/** Match of a pattern: from where to where, from 0 on, and its captures, or all of it if it has none. */
export interface Found {
  readonly start: number;
  readonly end: number;
  readonly captures: readonly (string | number)[];
  readonly hasCaptures: boolean;
}

/** A pattern of Lua as a regular expression; those with `%b`, `%f` or a back reference are none. */
interface Pattern {
  readonly expression: RegExp;
  /** Numbers of its captures that are places, as `()` is. */
  readonly places: readonly number[];
}

const patterns = new Map<string, Pattern>();

/** @param from the first place that may be found, from 0 on */
export function find(text: string, pattern: string, from: number): Found | undefined {
  const { expression, places } = compiled(pattern);
  expression.lastIndex = from;
  const match = expression.exec(text);
  if (!match) return undefined;
  const captures: (string | number)[] = match.slice(1);
  for (const place of places) captures[place] = (match.indices?.[place + 1]?.[0] ?? 0) + 1;
  const [all] = match;
  const hasCaptures = captures.length > 0;
  return {
    start: match.index,
    end: match.index + all.length,
    captures: hasCaptures ? captures : [all],
    hasCaptures,
  };
}

function compiled(pattern: string): Pattern {
  const known = patterns.get(pattern);
  if (known) return known;
  const made = new Compiler(pattern).compile();
  patterns.set(pattern, made);
  return made;
}

class Compiler {
  readonly #pattern: string;
  readonly #places: number[] = [];
  #at = 0;
  #captures = 0;

  constructor(pattern: string) {
    this.#pattern = pattern;
  }

  compile(): Pattern {
    const isAnchored = this.#pattern.startsWith('^');
    if (isAnchored) this.#at = 1;
    let source = '';
    while (this.#at < this.#pattern.length) source += this.#next();
    const flags = `${this.#places.length > 0 ? 'd' : ''}${isAnchored ? 'y' : 'g'}`;
    return { expression: new RegExp(source, flags), places: this.#places };
  }

  #next(): string {
    const pattern = this.#pattern;
    const letter = pattern[this.#at] as string;
    if (letter === '(') {
      this.#at++;
      if (pattern[this.#at] === ')') this.#places.push(this.#captures);
      this.#captures++;
      return '(';
    }
    if (letter === ')' || (letter === '$' && this.#at === pattern.length - 1)) {
      this.#at++;
      return letter;
    }
    const item = this.#item();
    const quantifier = QUANTIFIERS[pattern[this.#at] ?? ''];
    if (quantifier === undefined) return item;
    this.#at++;
    return item + quantifier;
  }

  /** Translates an item that stands for one character. */
  #item(): string {
    const letter = this.#pattern[this.#at++] as string;
    if (letter === '.') return '[^]';
    if (letter === '[') return this.#set();
    return letter === '%' ? this.#escaped((inside, isNegated) => `[${isNegated ? '^' : ''}${inside}]`) : quoted(letter);
  }

  #set(): string {
    const pattern = this.#pattern;
    const isNegated = pattern[this.#at] === '^';
    if (isNegated) this.#at++;
    let inside = '';
    for (let isFirst = true; isFirst || pattern[this.#at] !== ']'; isFirst = false) {
      const letter = pattern[this.#at++];
      if (letter === undefined) throw new LuaError("malformed pattern (missing ']')");
      const end = pattern[this.#at + 1];
      if (letter === '%') inside += this.#escaped((members, isOther) => (isOther ? this.#refuse() : members));
      else if (pattern[this.#at] === '-' && end !== undefined && end !== ']') {
        inside += `${quoted(letter)}-${quoted(end)}`;
        this.#at += 2;
      } else inside += quoted(letter);
    }
    this.#at++;
    return `[${isNegated ? '^' : ''}${inside}]`;
  }

  #escaped(show: (members: string, isNegated: boolean) => string): string {
    const letter = this.#pattern[this.#at++];
    if (letter === undefined) throw new LuaError("malformed pattern (ends with '%')");
    const members = CLASSES[letter.toLowerCase()];
    if (members !== undefined) return show(members, letter !== letter.toLowerCase());
    return /[A-Za-z0-9]/.test(letter) ? this.#refuse() : quoted(letter);
  }

  #refuse(): never {
    throw new LuaError(`the pattern '${this.#pattern}' has something that is not translated`);
  }
}

function quoted(letter: string): string {
  return /[\^$\\.*+?()[\]{}|/-]/.test(letter) ? `\\${letter}` : letter;
}
