import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const FOLDER = join(import.meta.dirname, '../../lib/broker/redis/lua');
const TABLE = join(FOLDER, 'script-table.ts');

/** Longest line of a source file, as prettier has it. */
const PRINT_WIDTH = 120;

/** The folder of the parts that scripts share, beside them. */
const INCLUDES = 'includes';

/** A line of a script that includes a file of that folder. */
const INCLUDE = /^-- @include (\S+)$/m;

/** The comment that a script begins with. */
const HEAD = /^(?:--.*\n)+?(?=\n|-- @include)/;

/** How a head names a key, with its type, and an argument. */
const KEY = /^([a-z_]+) (?:ZSET|HASH|STRING|STREAM|SET|ANY)$/;
const ARGUMENT = /^([a-z_]+|\.{3})$/;

/** The last argument of a script that takes any number of further ones. */
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
 * says that it takes. So the scripts stay files, and what is built reads nothing from disk, and has each include once. For rolldown and
 * Vite alike.
 */
export function luaScripts() {
  return {
    name: 'lua-scripts',
    load(id) {
      if (!id.endsWith('.lua')) return undefined;
      const read = (path) => {
        this.addWatchFile(path);
        return readFileSync(path, 'utf8');
      };
      const code = basename(dirname(id)) === INCLUDES ? moduleOfInclude(id, read) : moduleOfScript(id, read);
      return { code, moduleType: 'js', map: null };
    },
  };
}

function moduleOfInclude(path, read) {
  return `export default ${JSON.stringify(readInclude(path, read))};`;
}

function moduleOfScript(path, read) {
  const { pieces, keys, args, takesMore } = parseScript(path, read);
  const includes = [...new Set(pieces.flatMap(({ include }) => include ?? []))];
  const imports = includes.map((file, i) => `import include${i} from ${JSON.stringify(file)};\n`);
  const source = pieces.map(({ include, code }) =>
    include ? `include${includes.indexOf(include)}` : JSON.stringify(code),
  );
  const rest = JSON.stringify({ keys, args, takesMore }).slice(1);
  return `${imports.join('')}export default { source: ${source.join(' + ')}, ${rest};`;
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
  const { pieces, ...takes } = parseScript(path, read);
  return { source: pieces.map(({ code }) => code).join(''), ...takes };
}

/** What a script takes, and the pieces that its source is made of: its own code, and files that it includes. */
function parseScript(path, read) {
  const name = basename(path);
  const text = read(path);
  const [head] = HEAD.exec(text) ?? [];
  if (!head) throw new Error(`${name} does not begin with a comment that says what it takes`);
  const keys = namesOf(head, 'KEYS', KEY, name);
  const args = namesOf(head, 'ARGV', ARGUMENT, name);
  const takesMore = args.at(-1) === REST;
  if (takesMore) args.pop();
  const body = text
    .slice(head.length)
    .split(INCLUDE)
    .map((piece, i) =>
      i % 2 === 0 ? { code: withoutComments(piece) } : includeOf(join(path, '..', INCLUDES, `${piece}.lua`), read),
    );
  // `FIRST` is where the further arguments begin.
  const locals =
    localsOf('KEYS', keys) + localsOf('ARGV', args) + (takesMore ? `local FIRST = ${args.length + 1}\n` : '');
  const names = [...keys, ...args, ...(takesMore ? ['ARGV', 'FIRST'] : [])];
  assertNames(name, names, body.map(({ code }) => code).join(''));
  return { pieces: [{ code: title(head) + locals }, ...body], keys, args, takesMore };
}

function includeOf(path, read) {
  return { include: path, code: readInclude(path, read) };
}

function readInclude(path, read) {
  return withoutComments(read(path)).trim();
}

/** The first line of a head, for whoever meets the script in Redis. */
function title(head) {
  return head.slice(0, head.indexOf('\n') + 1);
}

/** Comments would be a third of what every process reads when it starts, and sends to Redis. */
export function withoutComments(code) {
  return code.replaceAll(/^[ \t]*--.*\n/gm, '').replaceAll(/\n{2,}/g, '\n');
}

/** Writes the table of the scripts anew if it is not what their heads say. */
export function writeScriptTable() {
  const table = scriptTable();
  if (readFileSync(TABLE, 'utf8') !== table) writeFileSync(TABLE, table);
}

/** The module that imports every script, with types that say what each takes. */
export function scriptTable() {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith('.lua'));
  const names = files.map((file) => basename(file, '.lua')).toSorted();
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
