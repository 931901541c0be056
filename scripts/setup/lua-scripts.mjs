import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { translate } from './lua-translator.mjs';

const FOLDER = join(import.meta.dirname, '../../lib/broker/redis/lua');
const TABLE = join(FOLDER, 'script-table.ts');

/** The module that has all scripts as JavaScript; there is only its declaration. */
const TRANSLATED = /\/translated-scripts\.js$/;

/** Longest line of a source file, as the formatter has it. */
const PRINT_WIDTH = 120;

/** A line of a script that includes a file of the folder `includes` beside it. */
const INCLUDE = /^-- @include (\S+)$/gm;

/** The comment that a script begins with. */
const HEAD = /^(?:--.*\n)+?(?=\n|-- @include)/;

/** How a head names a key, with its type, and an argument. */
const KEY = /^([a-z_]+(?= (?:ZSET|HASH|STRING|STREAM|ANY)$)|\.{3}$)/;
const ARGUMENT = /^([a-z_]+|\.{3})$/;

/** The last argument of a script that takes any number of further ones; the last key of one that takes those of several places. */
const REST = '...';

/** The words of Lua, and what every script has without declaring it. */
const RESERVED = (
  'and break do else elseif end false for function goto if in local nil not or repeat return then true until while ' +
  'redis string table math ipairs pairs tonumber tostring unpack select type error'
).split(' ');

/** Declares locals, the variables of a loop, or the parameters of a function. */
const DECLARATION =
  /\b(?:local(?:\s+function)?|for)\s+(?<names>\w+(?:\s*,\s*\w+)*)|(?<=\bfunction\b[^(\n]*)\((?<parameters>[^)]*)\)/g;

/**
 * Makes a module of each Lua script that is imported: its source, with every include in place of its line, and what its head
 * says that it takes; and one of all scripts as JavaScript. So the scripts stay files, and what is built reads nothing from disk. For
 * rolldown and Vite alike.
 */
export function luaScripts() {
  return {
    name: 'lua-scripts',
    resolveId(id) {
      return TRANSLATED.test(id) ? join(FOLDER, 'translated-scripts.js') : undefined;
    },
    load(id) {
      const read = (path) => {
        this.addWatchFile(path);
        return readFileSync(path, 'utf8');
      };
      // Without a source map: nobody reads what it would tell.
      if (TRANSLATED.test(id)) return { code: translatedScripts(read), moduleType: 'js', map: { mappings: '' } };
      if (!id.endsWith('.lua')) return undefined;
      return { code: `export default ${JSON.stringify(readScript(id, read))};`, moduleType: 'js', map: null };
    },
  };
}

/** The module that has every script as JavaScript. */
function translatedScripts(read) {
  const scripts = scriptNames().map((name) => {
    const { source } = readScript(join(FOLDER, `${name}.lua`), read);
    return `  '${name}': ${translate(Buffer.from(source).toString('latin1'), name)},\n`;
  });
  return `export const TRANSLATED = {\n${scripts.join('')}};\n`;
}

/**
 * Reads a script. Its head is the only place that knows the order of its keys and arguments: the locals that hold them are
 * made from it, and whoever calls the script gives them by name.
 *
 * @param {string} path
 * @param {(path: string) => string} read
 * @returns {{ source: string, keys: string[], args: string[], takesMore: boolean }}
 * @throws {Error} if the script uses a name that its head does not have, or its head has a name that the script does not use
 */
export function readScript(path, read = (file) => readFileSync(file, 'utf8')) {
  const name = basename(path);
  const text = read(path);
  const [head] = HEAD.exec(text) ?? [];
  if (!head) throw new Error(`${name} does not begin with a comment that says what it takes`);
  const keys = namesOf(head, 'KEYS', KEY, name);
  const args = namesOf(head, 'ARGV', ARGUMENT, name);
  const takesMore = args.at(-1) === REST;
  if (takesMore) args.pop();
  const takesPlaces = keys.at(-1) === REST;
  if (takesPlaces) keys.pop();
  const body = text
    .slice(head.length)
    .replaceAll(INCLUDE, (_, include) => read(join(path, '../includes', `${include}.lua`)).trimEnd());
  // `FIRST` is where the further arguments begin, `PLACE` how many keys each place has.
  const locals =
    (takesPlaces ? `local PLACE = ${keys.length}\n` : localsOf('KEYS', keys)) +
    localsOf('ARGV', args) +
    (takesMore ? `local FIRST = ${args.length + 1}\n` : '');
  const tables = [...(takesPlaces ? ['KEYS', 'PLACE'] : []), ...(takesMore ? ['ARGV', 'FIRST'] : [])];
  assertNames(name, [...keys, ...args, ...tables], body);
  return { source: head + locals + body, keys, args, takesMore };
}

/** Writes the table of the scripts anew if it is not what their heads say. */
export function writeScriptTable() {
  const table = scriptTable();
  if (readFileSync(TABLE, 'utf8') !== table) writeFileSync(TABLE, table);
}

/** The module that imports every script, with types that say what each takes. */
export function scriptTable() {
  const names = scriptNames();
  return [
    '// Made from the heads of the scripts by scripts/setup/lua-scripts.mjs; `npm run build` writes it anew.\n',
    '/* oxlint-disable max-lines -- it has a line for each key and argument of each script */\n',
    ...names.map((name) => `import ${identifier(name)} from './${name}.lua';\n`),
    '\nexport type Argument = string | number;\n',
    '\n/** The scripts by their names. */\n',
    `export const SCRIPTS = {\n${names.map((name) => `  ${propertyOf(name)},\n`).join('')}} as const;\n`,
    '\n/** The keys and arguments that each script takes, by their names. */\n',
    `export interface ScriptParameters {\n${names.map(parametersOf).join('')}}\n`,
  ].join('');
}

function scriptNames() {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith('.lua'));
  return files.map((file) => basename(file, '.lua')).toSorted();
}

/** A property of the table: what a script takes. */
function parametersOf(name) {
  const { keys, args, takesMore } = readScript(join(FOLDER, `${name}.lua`));
  const list = [...keys.map((key) => `${key}: string`), ...args.map((arg) => `${arg}: Argument`)];
  if (takesMore) list.push('rest: readonly Argument[]');
  const line = `  ${quoted(name)}: { ${list.join('; ')} };\n`;
  if (line.length <= PRINT_WIDTH) return line;
  return `  ${quoted(name)}: {\n${list.map((each) => `    ${each};\n`).join('')}  };\n`;
}

/** A property of the table: a script. */
function propertyOf(name) {
  return identifier(name) === name ? name : `${quoted(name)}: ${identifier(name)}`;
}

function identifier(name) {
  return name.replaceAll(/-./g, ([, letter]) => letter.toUpperCase());
}

function quoted(name) {
  return name.includes('-') ? `'${name}'` : name;
}

/** The names that a section of a head lists with commas; what stands in parentheses explains. */
function namesOf(head, section, pattern, script) {
  const [, text = ''] = new RegExp(`^-- ${section} +(.*(?:\n--  +.*)*)`, 'm').exec(head) ?? [];
  const list = text
    .replaceAll(/\n--/g, ' ')
    .replaceAll(/\([^)]*\)/g, '')
    .split(',');
  return list
    .filter((each) => each.trim() !== '')
    .map((each) => {
      const [, name] = pattern.exec(each.trim()) ?? [];
      if (!name)
        throw new Error(
          `The head of ${script} has '${each.trim()}' among its ${section}, where ${pattern} is expected`,
        );
      return name;
    });
}

function localsOf(table, names) {
  if (names.length === 0) return '';
  return `local ${names.join(', ')} = ${names.map((_, i) => `${table}[${i + 1}]`).join(', ')}\n`;
}

/** Checks that a script uses every name of its head, and none that is not declared before. */
function assertNames(script, ofHead, body) {
  const code = body.replaceAll(/--.*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g, (text) => ' '.repeat(text.length));
  const declaredAt = new Map([...RESERVED, ...ofHead].map((name) => [name, 0]));
  for (const { index, groups } of code.matchAll(DECLARATION)) {
    for (const name of (groups.names ?? groups.parameters).match(/\w+/g) ?? []) {
      declaredAt.set(name, Math.min(index, declaredAt.get(name) ?? index));
    }
  }
  const used = new Set();
  for (const { 0: name, index } of code.matchAll(/(?<![.\w])[A-Za-z_]\w*/g)) {
    used.add(name);
    const isField = /[{,]\s*$/.test(code.slice(0, index)) && /^\s*=[^=]/.test(code.slice(index + name.length));
    if (!isField && !(declaredAt.get(name) <= index)) {
      throw new Error(`${script} uses '${name}', which neither its head nor anything before it declares`);
    }
  }
  const unused = ofHead.find((name) => !used.has(name));
  if (unused) throw new Error(`The head of ${script} names '${unused}', which the script does not use`);
}
