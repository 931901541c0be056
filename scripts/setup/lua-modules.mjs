import luaparse from 'luaparse';

import { blockOf, textWith } from './lua-blocks.mjs';
import { NameChecker, refuse } from './lua-names.mjs';

/** A comment that the build reads. */
const LINE = /^ @(\w+) ?(.*)$/;

/** The words that such a comment begins with, and how each goes on. */
const NAMES = /^\w+(?:, \w+)*$/;
const USE = /^(?<module>[a-z-]+)(?: \((?<names>\w+(?:, \w+)*)\))?(?: if (?<condition>\w+))?$/;

/** Statements in whose blocks a script can use modules. */
const TAKES_MODULES = new Set(['IfStatement', 'WhileStatement']);

/** @typedef {{ name: string, line: number }} Named */

/**
 * Reads a file of Lua, and the lines of its comments that are for the build: `-- @exports a, b` and `-- @needs c, d` of a module, and
 * `-- @use module (a, b)` of a module or a script. A script can say `-- @use module (a, b) if c`: what the module declares is then only
 * there if `c` is true where that stands, and nil otherwise.
 *
 * @param {string} file its name, for errors
 */
export function parseLua(file, text) {
  const { body, comments } = parsed(file, text);
  /** @type {{ exports: Named[], needs: Named[], uses: { module: string, names: Named[], condition?: string, range: [number, number], line: number }[] }} */
  const said = { exports: [], needs: [], uses: [] };
  for (const { value, range, loc } of comments) {
    const [, word, rest] = LINE.exec(value) ?? [];
    const line = loc.start.line;
    const named = (names = '') => names.split(', ').flatMap((name) => (name ? { name, line } : []));
    if (word === 'use' && USE.test(rest)) {
      const { module, names, condition } = USE.exec(rest).groups;
      said.uses.push({ module, names: named(names), condition, range, line });
    } else if ((word === 'exports' || word === 'needs') && NAMES.test(rest)) {
      said[word].push(...named(rest));
    } else if (word) {
      refuse(file, line, `'@${word} ${rest}' says nothing to the build`);
    }
  }
  return { file, text, body, comments, ...said };
}

function parsed(file, text) {
  try {
    return luaparse.parse(text, { luaVersion: '5.1', encodingMode: 'pseudo-latin1', locations: true, ranges: true });
  } catch (error) {
    return refuse(file, error.line, error.message);
  }
}

/**
 * Reads a module, and checks it by itself.
 *
 * @returns what `parseLua` answers, and how many locals it has at the same time beside those that it exports
 */
export function parseModule(file, text) {
  const module = parseLua(file, text);
  const conditional = module.uses.find(({ condition }) => condition !== undefined);
  if (conditional) refuse(file, conditional.line, 'only a script says on what a module depends');
  const names = new NameChecker(file, module.exports);
  for (const each of module.needs) names.declare(each, { counts: false, isLent: true });
  for (const each of namesUsedBy(module)) names.declare(each, { counts: false });
  names.check(module.body);
  const exports = module.exports.map(({ name, line }) => {
    const local = names.find(name);
    if (!local) refuse(file, line, `'${name}' is exported, and not declared`);
    return { name, line, isUsed: local.isUsed };
  });
  return { ...module, exports, locals: names.most };
}

/**
 * The source of a script without comments. Each module that it uses is a block in the place of its first use, behind those that it uses
 * itself. What others use of it is declared before that block, and all else that it declares is its own.
 *
 * @param script as `parseLua` answers it
 * @param {(names: NameChecker) => void} declareOwn declares what the script has without declaring it
 * @param {(name: string) => ReturnType<typeof parseModule> | undefined} moduleOf
 * @throws {Error} if a name is not declared, not used, or not listed by whoever uses it
 */
export function resolveModules(script, declareOwn, moduleOf) {
  for (const { name, line } of [...script.exports, ...script.needs])
    refuse(script.file, line, `'${name}' is said of a module, and this is none`);
  const places = placesOf(script, moduleOf);
  const users = [script, ...places.flatMap(({ modules }) => modules)];
  const listed = new Set(users.flatMap(namesUsedBy).map(({ name }) => name));
  const isShared = ({ name }) => listed.has(name);
  const names = new NameChecker(script.file);
  declareOwn(names);
  const steps = places.map(({ modules, ...use }) => ({
    ...use,
    run() {
      if (use.condition) names.require({ name: use.condition, line: use.line }, fileOf(use.module));
      for (const module of modules) insert(module, isShared, names, use.line);
      for (const { name } of use.names) names.show(name);
    },
  }));
  names.check(script.body, steps);
  const blocks = places.map(({ range, modules, module, condition }) => {
    const conditionOf = ({ file }) => (file === fileOf(module) ? condition : undefined);
    return [range, modules.map((one) => blockOf(one, isShared, conditionOf(one))).join('')];
  });
  return textWith(script, blocks);
}

/** Checks that somebody uses each module, and each name that it exports. */
export function assertUsed(scripts, modules) {
  const uses = [...scripts, ...modules].flatMap((user) => user.uses);
  for (const { file, exports } of modules) {
    const names = uses.flatMap((use) => (file === fileOf(use.module) ? [use.names.map(({ name }) => name)] : []));
    if (names.length === 0) refuse(file, 1, 'nobody uses the module');
    const spare = exports.find(({ name }) => !names.flat().includes(name));
    if (spare) refuse(file, spare.line, `'${spare.name}' is exported, and nobody uses it`);
  }
}

/** Where a script uses modules, and those that are to be inserted there: what a clause of an `if` brings is not there behind it. */
function placesOf(script, moduleOf) {
  const blocks = new Map();
  return script.uses.map((use) => {
    const around = [script, ...clausesAround(script.body, use.range)];
    const isVisible = (module) => around.includes(blocks.get(module));
    const needed = new Set(modulesOf(use, script.file, moduleOf));
    const modules = [...needed].filter((module) => !isVisible(module));
    if (use.condition && ![...modules].some(({ file }) => file === fileOf(use.module))) {
      refuse(script.file, use.line, `${fileOf(use.module)} is there already, whatever '${use.condition}' is`);
    }
    for (const module of modules) {
      if (blocks.has(module)) refuse(script.file, use.line, `${module.file} is used in another block before`);
      blocks.set(module, around.at(-1));
    }
    return { ...use, modules };
  });
}

/** The clauses and loops that this place is in, from the outermost. */
function clausesAround(body, [start]) {
  const around = body.find(({ type, range }) => TAKES_MODULES.has(type) && range[0] < start && start < range[1]);
  const clause = around?.clauses ? around.clauses.findLast(({ range }) => range[0] < start) : around;
  return clause ? [clause, ...clausesAround(clause.body, [start])] : [];
}

function fileOf(module) {
  return `modules/${module}.lua`;
}

function namesUsedBy({ uses }) {
  return uses.flatMap(({ names }) => names);
}

/** The module that is used, behind all that it uses itself. */
function modulesOf({ module: name, names, line }, user, moduleOf, users = []) {
  if (users.includes(name)) refuse(user, line, `the module '${name}' uses itself: ${[...users, name].join(', ')}`);
  const module = moduleOf(name);
  if (!module) refuse(user, line, `there is no module '${name}'`);
  const missing = names.find((one) => !module.exports.some((other) => other.name === one.name));
  if (missing) refuse(user, missing.line, `the module '${name}' does not export '${missing.name}'`);
  return [...module.uses.flatMap((use) => modulesOf(use, module.file, moduleOf, [...users, name])), module];
}

/** What a module needs has to be there before, and what it shares nowhere else. */
function insert(module, isShared, names, line) {
  for (const need of module.needs) names.require(need, module.file);
  const shared = module.exports.filter(isShared);
  names.takeBriefly(module.locals + module.exports.length - shared.length, line);
  for (const { name } of shared) names.declare({ name, line }, { isHidden: true });
}
