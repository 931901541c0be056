import { type Found, find } from './lua-pattern.js';
import {
  LuaError,
  type LuaFunction,
  type LuaValue,
  asNumber,
  formatNumber,
  isTrue,
  toNumber,
  toText,
} from './lua-value.js';

const DIRECTIVE = /%([-+ #0]*)(\d*)(?:\.(\d+))?(.)/gs;

/** Digits of `%g` if it names none. */
const DIGITS = 6;

/** The library `string`, as far as scripts use it. */
export const STRINGS: Readonly<Record<string, LuaFunction>> = {
  format: (pattern, ...values) => [format(toText(pattern), values)],

  match(text, pattern, init) {
    const found = find(toText(text), toText(pattern), startOf(toText(text), init));
    return found ? [...found.captures] : [undefined];
  },

  find(text, pattern, init, isPlain) {
    const [all, sought] = [toText(text), toText(pattern)];
    const from = startOf(all, init);
    if (isTrue(isPlain)) {
      const at = all.indexOf(sought, from);
      return at === -1 ? [undefined] : [at + 1, at + sought.length];
    }
    const found = find(all, sought, from);
    if (!found) return [undefined];
    return [found.start + 1, found.end, ...(found.hasCaptures ? found.captures : [])];
  },

  gmatch(text, pattern) {
    const [all, sought] = [toText(text), toText(pattern)];
    let at = 0;
    return [
      () => {
        const found = at > all.length ? undefined : find(all, sought, at);
        at = found ? nextPlace(found) : Infinity;
        return found ? [...found.captures] : [undefined];
      },
    ];
  },

  gsub(text, pattern, replacement) {
    const [all, sought] = [toText(text), toText(pattern)];
    let result = '';
    let count = 0;
    let at = 0;
    while (at <= all.length) {
      const found = find(all, sought, at);
      if (!found) break;
      const { start, end } = found;
      count++;
      result += all.slice(at, start) + replaced(found, all.slice(start, end), replacement);
      at = nextPlace(found);
      if (at > end) result += all.slice(end, at);
      if (sought.startsWith('^')) break;
    }
    return [result + all.slice(at), count];
  },

  sub(text, first, last = -1) {
    const all = toText(text);
    const from = Math.max(1, placeIn(all, first));
    const till = Math.min(all.length, placeIn(all, last));
    return [from > till ? '' : all.slice(from - 1, till)];
  },

  byte(text, first = 1, last = first) {
    const all = toText(text);
    const bytes: LuaValue[] = [];
    const till = Math.min(all.length, placeIn(all, last));
    for (let at = Math.max(1, placeIn(all, first)); at <= till; at++) bytes.push(all.charCodeAt(at - 1));
    return bytes;
  },

  rep: (text, count) => [toText(text).repeat(Math.max(0, toNumber(count)))],
};

/** Returns a place, from 1 on; negative ones are counted from the end. */
function placeIn(text: string, place: LuaValue): number {
  const given = toNumber(place);
  return given < 0 ? text.length + given + 1 : given;
}

/** Returns where to begin, from 0 on; at the latest at the end. */
function startOf(text: string, init: LuaValue = 1): number {
  return Math.min(text.length, Math.max(1, placeIn(text, init)) - 1);
}

/** Returns the place behind the match, one further if that was empty. */
function nextPlace({ start, end }: Found): number {
  return end === start ? end + 1 : end;
}

function replaced({ captures }: Found, all: string, replacement: LuaValue): string {
  if (typeof replacement === 'function') {
    const [given] = replacement(...captures);
    return isTrue(given) ? toText(given) : all;
  }
  return toText(replacement).replaceAll(/%(.)/gs, (_, letter: string) => {
    if (letter === '0') return all;
    return /\d/.test(letter) ? toText(captures[Number(letter) - 1]) : letter;
  });
}

function format(pattern: string, values: LuaValue[]): string {
  const rest = values.values();
  return pattern.replaceAll(
    DIRECTIVE,
    (_, flags: string, width: string, precision: string | undefined, kind: string) => {
      if (kind === '%') return '%';
      const { done, value } = rest.next();
      if (done) throw new LuaError('bad argument to format (no value)');
      return padded(shown(kind, value, precision), flags, Number(width));
    },
  );
}

function shown(kind: string, value: LuaValue, precision: string | undefined): string {
  switch (kind) {
    case 's':
      // C ends a text at its first NUL.
      return toText(value).split('\0', 1)[0] ?? '';
    case 'd':
      return wholeOf(value).toString();
    case 'X':
      return wholeOf(value).toString(16).toUpperCase();
    case 'x':
      return wholeOf(value).toString(16);
    case 'g':
      return formatNumber(toNumber(value), precision === undefined ? DIGITS : Number(precision));
    default:
      throw new LuaError(`'%${kind}' is not translated`);
  }
}

/** Converts a number as C does a double that it takes for a whole number of 64 bits. */
function wholeOf(value: LuaValue): bigint {
  const number = asNumber(value);
  if (number === undefined) throw new LuaError('bad argument to format (number expected)');
  return Math.abs(number) < 2 ** 63 ? BigInt(Math.trunc(number)) : -(2n ** 63n);
}

function padded(text: string, flags: string, width: number): string {
  if (text.length >= width) return text;
  if (flags.includes('-')) return text.padEnd(width);
  if (!flags.includes('0')) return text.padStart(width);
  const sign = /^[+-]/.exec(text)?.[0] ?? '';
  return sign + text.slice(sign.length).padStart(width - sign.length, '0');
}
