import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';

import { rolldown } from 'rolldown';

import { bundle, isImported } from './bundle.mjs';
import { luaScripts, textOf } from './lua-scripts.mjs';
import { mutate } from './mutate.mjs';
import { unpackedRevision } from './revision.mjs';
import { ROOT } from './run.mjs';

const LIB = join(ROOT, 'lib');
const FOLDER = 'dist-simulation';
const ENTRY = 'test/simulation/product/entry.ts';

/** What decides when an id of version 7 was made, which the package keeps for as long as a process lives. */
const KEPT_BY_UUID = 'updateV7State(_state, now, rnds);';

/** Compiles the simulator, and returns the paths of its programs. */
export async function bundleSimulator() {
  const programs = { main: 'test/simulation/main.ts', guard: 'test/simulation/guard.ts' };
  await bundle(programs, { dir: FOLDER, format: 'esm' });
  return { main: join(FOLDER, 'main.js'), guard: join(FOLDER, 'guard.js') };
}

/**
 * Makes one script of all of the product that a simulation takes, in memory.
 *
 * @param {readonly { file: string, find: string, replace: string }[]} mutations as those of test/fleet/faults/mutations
 * @returns {Promise<string>} CommonJS
 * @throws {Error} if a mutation does not fit the source
 */
export async function bundleProduct(mutations = []) {
  const used = new Set();
  const mutated = (path, text) => {
    const file = relative(LIB, path).replaceAll('\\', '/');
    return mutations.reduce((source, mutation) => {
      if (mutation.file !== file) return source;
      used.add(mutation);
      return mutate(source, mutation);
    }, text);
  };
  const read = (path) => {
    const text = textOf(path);
    return text === undefined ? undefined : mutated(path, text);
  };
  const code = await bundled(ROOT, luaScripts(read), (text, id) => transformed(mutated, text, id));
  for (const mutation of mutations) if (!used.has(mutation)) throw new Error(`Nothing was changed in ${mutation.file}`);
  return code;
}

/**
 * Makes one script of the same of another revision, with its own scripts of Redis.
 *
 * @param {string} revision as git names it
 */
export async function bundleRevision(revision) {
  const root = unpackedRevision(revision, join(ROOT, FOLDER, 'revision'), ENTRY);
  const { luaScripts: scriptsOfRevision } = await import(
    pathToFileURL(join(root, 'scripts/setup/lua-scripts.mjs')).href
  );
  return bundled(root, scriptsOfRevision(), (text, id) => transformed((_path, unchanged) => unchanged, text, id));
}

async function bundled(root, scripts, transform) {
  const build = await rolldown({
    input: ENTRY,
    cwd: root,
    platform: 'node',
    tsconfig: join(root, 'tsconfig.build.json'),
    external: (id) => isImported(id),
    plugins: [scripts, { name: 'product', transform }],
    checks: { bundlerTimings: false },
  });
  const { output } = await build.generate({ format: 'cjs', codeSplitting: false });
  await build.close();
  return output[0].code;
}

function transformed(mutated, code, id) {
  // One simulation would depend on those before it.
  const text = /uuid.*[\\/]v7\.js$/.test(id)
    ? code.replace(KEPT_BY_UUID, () => `const _state = ${KEPT_BY_UUID.replace('_state', '{}')}`)
    : mutated(id, code);
  return text === code ? undefined : { code: text, map: null };
}
