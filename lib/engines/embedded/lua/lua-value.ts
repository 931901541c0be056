/** A function of Lua, which answers any number of values. */
export type LuaFunction = (...args: LuaValue[]) => LuaValue[];

export type LuaKey = string | number | boolean | LuaTable | LuaFunction;

/** A value of Lua 5.1: `undefined` is nil, and a string has one character for each of its bytes. */
export type LuaValue = LuaKey | undefined;

/** A table of Lua: the values at 1, 2, 3 … in a list, and all others in a map. */
export class LuaTable {
  /** From 1 on without a gap; so its length is a border, as `#` wants it. */
  readonly list: LuaValue[];
  #others: Map<LuaKey, LuaValue> | undefined;

  /** @param values from 1 on; the table keeps the array */
  constructor(values: LuaValue[] = []) {
    const gap = values.indexOf(undefined);
    this.list = values;
    if (gap === -1) return;
    const behind = values.splice(gap);
    for (const [i, value] of behind.entries()) this.set(gap + i + 1, value);
  }

  get(key: LuaValue): LuaValue {
    if (typeof key === 'number' && key >= 1 && key <= this.list.length && Number.isInteger(key)) {
      return this.list[key - 1];
    }
    return this.#others?.get(key as LuaKey);
  }

  set(key: LuaValue, value: LuaValue): void {
    const { list } = this;
    if (typeof key === 'number' && key >= 1 && key <= list.length + 1 && Number.isInteger(key)) this.#place(key, value);
    else if (value === undefined) this.#others?.delete(key as LuaKey);
    else (this.#others ??= new Map()).set(key, value);
  }

  /** Sets an entry, and returns the same table. */
  with(key: LuaValue, value: LuaValue): this {
    this.set(key, value);
    return this;
  }

  /** Returns the entries, first those from 1 on. Redis says nothing about the order of the others. */
  entries(): [LuaKey, LuaValue][] {
    return [...this.list.map((value, i): [LuaKey, LuaValue] => [i + 1, value]), ...(this.#others ?? [])];
  }

  /** @param key at most one behind the end of the list */
  #place(key: number, value: LuaValue): void {
    const { list } = this;
    if (value === undefined) {
      const behind = list.splice(key - 1).slice(1);
      for (const [i, moved] of behind.entries()) (this.#others ??= new Map()).set(key + 1 + i, moved);
    } else if (key <= list.length) list[key - 1] = value;
    else this.#append(value);
  }

  #append(value: LuaValue): void {
    const { list } = this;
    list.push(value);
    const others = this.#others;
    if (!others || others.size === 0) return;
    for (let next = list.length + 1; others.has(next); next++) {
      list.push(others.get(next));
      others.delete(next);
    }
  }
}

/** Error that a script has failed with. */
export class LuaError extends Error {
  override readonly name = 'LuaError';
}

/** Digits of a number as a text: `%.14g`, as `LUAI_NUMFFORMAT` of Lua 5.1 has it. */
const DIGITS = 14;

/** More than any number that is a tie has. */
const EXACT_DIGITS = 60;

const DECIMAL = /^[ \t\n\v\f\r]*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[ \t\n\v\f\r]*$/;
const HEXADECIMAL = /^[ \t\n\v\f\r]*([+-]?)0[xX]([0-9a-fA-F]+)[ \t\n\v\f\r]*$/;
/** As `strtod` reads them. */
const SPECIAL = /^[ \t\n\v\f\r]*([+-]?)(inf|infinity|nan)[ \t\n\v\f\r]*$/i;

export function isTrue(value: LuaValue): boolean {
  return value !== undefined && value !== false;
}

export function typeOf(value: LuaValue): string {
  if (value === undefined) return 'nil';
  return typeof value === 'object' ? 'table' : typeof value;
}

/** Returns the number that a value is, or that its text says; `undefined` if it is none. */
export function asNumber(value: LuaValue): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return undefined;
  if (DECIMAL.test(value)) return Number(value);
  const [, sign, digits] = HEXADECIMAL.exec(value) ?? [];
  if (digits !== undefined) return (sign === '-' ? -1 : 1) * Number.parseInt(digits, 16);
  const [, minus, name] = SPECIAL.exec(value) ?? [];
  if (name === undefined) return undefined;
  if (name.toLowerCase() === 'nan') return NaN;
  return minus === '-' ? -Infinity : Infinity;
}

/** Converts an operand of arithmetic. */
export function toNumber(value: LuaValue): number {
  const number = asNumber(value);
  if (number === undefined) throw new LuaError(`attempt to perform arithmetic on a ${typeOf(value)} value`);
  return number;
}

/** Converts an operand of `..`. */
export function toText(value: LuaValue): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return formatNumber(value, DIGITS);
  throw new LuaError(`attempt to concatenate a ${typeOf(value)} value`);
}

/** Formats a number as `%.<digits>g` of C does. */
export function formatNumber(number: number, digits: number): string {
  if (Number.isNaN(number)) return 'nan';
  if (!Number.isFinite(number)) return number > 0 ? 'inf' : '-inf';
  if (Object.is(number, -0)) return '-0';
  if (Number.isInteger(number) && Math.abs(number) < 1e14) return String(number);
  const [mantissa = '', power = '0'] = rounded(number, digits).split('e');
  const exponent = Number(power);
  if (exponent >= -4 && exponent < digits) return withoutZeros(written(mantissa, exponent));
  const sign = exponent < 0 ? '-' : '+';
  return `${withoutZeros(mantissa)}e${sign}${String(Math.abs(exponent)).padStart(2, '0')}`;
}

/** Rounds to the given number of digits; of two that are equally near, C takes the even one, and JavaScript the larger. */
function rounded(number: number, digits: number): string {
  const nearest = number.toExponential(digits - 1);
  const exact = number.toExponential(EXACT_DIGITS);
  const end = exact.indexOf('.') + digits;
  const [shown, rest] = [exact.slice(0, end), exact.slice(end)];
  const isTie = /^50*e/.test(rest) && /[02468]$/.test(shown);
  return isTie ? `${shown}${rest.slice(rest.indexOf('e'))}` : nearest;
}

/** Writes a number without an exponent. */
function written(mantissa: string, exponent: number): string {
  const sign = mantissa.startsWith('-') ? '-' : '';
  const figures = mantissa.replaceAll(/[-.]/g, '');
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${figures}`;
  return `${sign}${figures.slice(0, exponent + 1)}.${figures.slice(exponent + 1)}`;
}

function withoutZeros(decimal: string): string {
  return decimal.includes('.') ? decimal.replace(/\.?0*$/, '') : decimal;
}

/** Compares two numbers or two strings, as `<` and its like do; strings byte by byte. */
export function isLess(a: LuaValue, b: LuaValue): boolean {
  if (typeof a === 'number' && typeof b === 'number') return a < b;
  if (typeof a === 'string' && typeof b === 'string') return a < b;
  throw incomparable(a, b);
}

export function isAtMost(a: LuaValue, b: LuaValue): boolean {
  if (typeof a === 'number' && typeof b === 'number') return a <= b;
  if (typeof a === 'string' && typeof b === 'string') return a <= b;
  throw incomparable(a, b);
}

function incomparable(a: LuaValue, b: LuaValue): LuaError {
  const [left, right] = [typeOf(a), typeOf(b)];
  if (left === right) return new LuaError(`attempt to compare two ${left} values`);
  return new LuaError(`attempt to compare ${left} with ${right}`);
}
