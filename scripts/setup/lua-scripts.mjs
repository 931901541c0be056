import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { basename, join, relative } from 'node:path';

import { declareHead, localsOf, readHead } from './lua-heads.mjs';
import { assertUsed, parseLua, parseModule, resolveModules } from './lua-modules.mjs';
import { translate } from './lua-translator.mjs';

export const FOLDER = join(import.meta.dirname, '../../lib/store/lua');
const MODULES = join(FOLDER, 'modules');

/** The modules that have all scripts, as Lua and as JavaScript; there are only their declarations. */
const SOURCES = join(FOLDER, 'script-sources.js');
const TRANSLATED = join(FOLDER, '../../engines/embedded/translated-scripts.js');

/**
 * Makes a module of the Lua scripts: their sources, with every module of Lua that they use, and what their heads say that they take;
 * and one of all scripts as JavaScript. So the scripts stay files, and what is built reads nothing from disk. For rolldown and Vite alike.
 *
 * @param {(path: string) => string | undefined} read for whoever wants other scripts than the files have
 */
export function luaScripts(read = textOf) {
  return {
    name: 'lua-scripts',
    resolveId(id) {
      return [SOURCES, TRANSLATED].find((path) => basename(path) === basename(id));
    },
    load(id) {
      if (id !== SOURCES && id !== TRANSLATED) return undefined;
      for (const folder of [FOLDER, MODULES]) for (const path of luaIn(folder)) this.addWatchFile(path);
      // Without a source map: nobody reads what it would tell.
      return { code: id === SOURCES ? sources(read) : translated(read), moduleType: 'js', map: { mappings: '' } };
    },
  };
}

function sources(read) {
  return `export const SCRIPTS = ${JSON.stringify(Object.fromEntries(readScripts(read)))};\n`;
}

function translated(read) {
  const scripts = readScripts(read).map(
    ([name, { source }]) => `  '${name}': ${translate(Buffer.from(source).toString('latin1'), name)},\n`,
  );
  return `export const TRANSLATED = {\n${scripts.join('')}};\n`;
}

/** @returns {[string, ReturnType<typeof readScript>][]} all scripts by their names */
export function readScripts(read = textOf) {
  return luaIn(FOLDER).map((path) => [basename(path, '.lua'), readScript(path, read)]);
}

/**
 * Reads a script. Its head is the only place that knows the order of its keys and arguments: the locals that hold them are
 * made from it, and whoever calls the script gives them by name.
 *
 * @param {string} path
 * @param {(path: string) => string | undefined} read
 * @returns {{ source: string, keys: string[], args: string[], takesMore: boolean, roles: string[], flags: string[] }}
 * @throws {Error} if a name is used and not declared, or the other way around
 */
export function readScript(path, read = textOf) {
  const file = basename(path);
  const text = read(path);
  const head = readHead(file, text);
  const modules = new Map();
  const moduleOf = (name) => {
    const module = read(join(path, '../modules', `${name}.lua`));
    if (module !== undefined && !modules.has(name)) modules.set(name, parseModule(`modules/${name}.lua`, module));
    return modules.get(name);
  };
  const body = resolveModules(parseLua(file, text), (names) => declareHead(head, names), moduleOf);
  const [keys, args] = [head.keys, head.args].map((named) => named.map(({ name }) => name));
  const { takesMore, roles, flags } = head;
  return { source: localsOf(head) + body, keys, args, takesMore, roles, flags };
}

/** Checks that somebody uses each module, and each name that it exports. */
export function assertModulesUsed() {
  const parsed = (folder, parse) => luaIn(folder).map((path) => parse(relative(FOLDER, path), textOf(path)));
  assertUsed(parsed(FOLDER, parseLua), parsed(MODULES, parseModule));
}

function luaIn(folder) {
  const files = readdirSync(folder).filter((file) => file.endsWith('.lua'));
  return files.toSorted().map((file) => join(folder, file));
}

/** @returns {string | undefined} `undefined`: there is none */
export function textOf(path) {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}
