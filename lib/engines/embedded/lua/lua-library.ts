import { STRINGS } from './lua-strings.js';
import {
  LuaError,
  type LuaFunction,
  LuaTable,
  type LuaValue,
  asNumber,
  isAtMost,
  isLess,
  isTrue,
  toNumber,
  toText,
  typeOf,
} from './lua-value.js';

/** Smallest exponent of a number that is not denormal, less one. */
const LEAST_EXPONENT = -1023;

type Library = Readonly<Record<string, LuaFunction>>;

const TABLES: Library = {
  concat(table, separator = '', first = 1, last = listOf(table).length) {
    const texts = listOf(table)
      .slice(toNumber(first) - 1, toNumber(last))
      .map(toText);
    return [texts.join(toText(separator))];
  },
  insert(table, ...given) {
    const list = listOf(table);
    if (given.length === 1) list.push(given[0]);
    else list.splice(toNumber(given[0]) - 1, 0, given[1]);
    return [];
  },
  sort(table, isBefore) {
    const before = typeof isBefore === 'function' ? isBefore : (a: LuaValue, b: LuaValue) => [isLess(a, b)];
    listOf(table).sort((a, b) => {
      if (isTrue(before(a, b)[0])) return -1;
      return isTrue(before(b, a)[0]) ? 1 : 0;
    });
    return [];
  },
};

const MATH: Readonly<Record<string, LuaFunction | number>> = {
  huge: Infinity,
  floor: (value) => [Math.floor(toNumber(value))],
  ceil: (value) => [Math.ceil(toNumber(value))],
  min: (...values) => [Math.min(...values.map(toNumber))],
  max: (...values) => [Math.max(...values.map(toNumber))],
  frexp(value) {
    const number = toNumber(value);
    if (number === 0 || !Number.isFinite(number)) return [number, 0];
    let exponent = Math.max(LEAST_EXPONENT, Math.floor(Math.log2(Math.abs(number))) + 1);
    let fraction = number * 2 ** -exponent;
    for (; Math.abs(fraction) < 0.5; exponent--) fraction *= 2;
    for (; Math.abs(fraction) >= 1; exponent++) fraction /= 2;
    return [fraction, exponent];
  },
};

const GLOBALS: Library = {
  tonumber: (value) => [asNumber(value)],
  tostring: (value) => [value === undefined ? 'nil' : typeof value === 'boolean' ? String(value) : toText(value)],
  type: (value) => [typeOf(value)],
  ipairs: (table) => [(_, at) => nextOf(table, toNumber(at) + 1), table, 0],
  pairs(table) {
    const entries = asTable(table).entries().values();
    return [() => entries.next().value ?? [undefined], table, undefined];
  },
  unpack(table, first = 1, last = listOf(table).length) {
    const values: LuaValue[] = [];
    for (let at = toNumber(first); at <= toNumber(last); at++) values.push(asTable(table).get(at));
    return values;
  },
  select: (first, ...values) => (first === '#' ? [values.length] : values.slice(toNumber(first) - 1)),
  error(message) {
    throw new LuaError(toText(message));
  },
};

/** Runtime that a translated script is made with. */
export type LuaRuntime = ReturnType<typeof luaRuntime>;

/** @param redis the functions `call`, `pcall` and `error_reply` */
export function luaRuntime(redis: Library) {
  return {
    LuaTable,
    isTrue,
    isLess,
    isAtMost,
    isMore,
    isAtLeast,
    toNumber,
    toText,
    lengthOf,
    remainder,
    globals: { ...GLOBALS, string: STRINGS, table: TABLES, math: MATH, redis },
  };
}

function isMore(a: LuaValue, b: LuaValue): boolean {
  return isLess(b, a);
}

function isAtLeast(a: LuaValue, b: LuaValue): boolean {
  return isAtMost(b, a);
}

function nextOf(table: LuaValue, place: number): LuaValue[] {
  const value = asTable(table).get(place);
  return value === undefined ? [undefined] : [place, value];
}

function lengthOf(value: LuaValue): number {
  return typeof value === 'string' ? value.length : listOf(value).length;
}

/** Returns the remainder, with the sign of the divisor. */
function remainder(a: number, b: number): number {
  return a - Math.floor(a / b) * b;
}

function asTable(value: LuaValue): LuaTable {
  if (value instanceof LuaTable) return value;
  throw new LuaError(`bad argument (table expected, got ${typeOf(value)})`);
}

function listOf(value: LuaValue): LuaValue[] {
  return asTable(value).list;
}
