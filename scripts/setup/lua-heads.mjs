import { refuse } from './lua-names.mjs';

/** The comment that a script begins with. */
const HEAD = /^(?:--.*\n)+?(?=\n|-- @)/;

/** How a head names a key, with its type, and an argument. */
const KEY = /^([a-z_]+(?= (?:ZSET|HASH|STRING|STREAM|ANY)$)|\.{3}$)/;
const ARGUMENT = /^([a-z_]+|\.{3})$/;

/** Who runs a script, and what it does to memory; `store/lua/lua-script.ts` tells what they mean. */
const ROLE = /^(producer|consumer|operator|none)$/;
const FLAG = /^(reads|adds)$/;

/** In place of the roles, if none needs the script. */
const NOBODY = 'none';

/** The last argument of a script that takes any number of further ones; the last key of one that takes those of several places. */
const REST = '...';

/** Up to so many keys or arguments are read one by one: one call that reads all costs less than to look up the table for each of more. */
const FEW = 4;

/**
 * Reads the head of a script: the only place that knows the order of its keys and arguments.
 *
 * @param {string} file its name, for errors
 */
export function readHead(file, text) {
  const [head] = HEAD.exec(text) ?? [];
  if (!head) refuse(file, 1, 'there is no comment that says what the script takes');
  const [keys, takesPlaces] = withoutRest(namesOf(file, head, 'KEYS', KEY));
  const [args, takesMore] = withoutRest(namesOf(file, head, 'ARGV', ARGUMENT));
  const roles = wordsOf(file, head, 'Roles', ROLE);
  if (roles.length === 0) refuse(file, 1, 'the head does not say by `Roles` who runs it');
  const flags = wordsOf(file, head, 'Flags', FLAG);
  return { keys, takesPlaces, args, takesMore, roles: roles.filter((role) => role !== NOBODY), flags };
}

/** What a script has without declaring it. `FIRST` is where the further arguments begin, `PLACE` how many keys each place has. */
export function localsOf({ keys, takesPlaces, args, takesMore }) {
  const places = takesPlaces ? `local PLACE = ${keys.length}\n` : elementsOf('KEYS', keys);
  return places + elementsOf('ARGV', args) + (takesMore ? `local FIRST = ${args.length + 1}\n` : '');
}

/** Declares that, and the tables that it is about. */
export function declareHead({ keys, takesPlaces, args, takesMore }, names) {
  const locals = [
    ...(takesPlaces ? [{ name: 'PLACE', line: 1 }] : keys),
    ...args,
    ...(takesMore ? [{ name: 'FIRST', line: 1 }] : []),
  ];
  for (const local of locals) names.declare(local);
  for (const name of [...(takesPlaces ? ['KEYS'] : []), ...(takesMore ? ['ARGV'] : [])]) {
    names.declare({ name, line: 1 }, { isGlobal: true });
  }
}

function withoutRest(named) {
  return named.at(-1)?.name === REST ? [named.slice(0, -1), true] : [named, false];
}

function wordsOf(file, head, section, pattern) {
  return namesOf(file, head, section, pattern).map(({ name }) => name);
}

/** The names that a section of a head lists with commas; what stands in parentheses explains. */
function namesOf(file, head, section, pattern) {
  const { 0: text = '', index = 0 } = new RegExp(`^-- ${section} +.*(?:\n--  +.*)*`, 'm').exec(head) ?? {};
  const list = text.replace(/^-- \w+|\n--/g, blank).replaceAll(/\([^)]*\)/g, blank);
  return Array.from(list.matchAll(/[^,\s][^,]*/g), ({ 0: each, index: at }) => {
    const line = head.slice(0, index + at).split('\n').length;
    const [, name] = pattern.exec(each.trim()) ?? [];
    if (!name) refuse(file, line, `'${each.trim()}' among ${section}, where ${pattern} is expected`);
    return { name, line };
  });
}

/** As long, and on as many lines. */
function blank(text) {
  return text.replaceAll(/[^\n]/g, ' ');
}

function elementsOf(table, named) {
  if (named.length === 0) return '';
  const elements =
    named.length > FEW ? `unpack(${table}, 1, ${named.length})` : named.map((_, i) => `${table}[${i + 1}]`).join(', ');
  return `local ${named.map(({ name }) => name).join(', ')} = ${elements}\n`;
}
