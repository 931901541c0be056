import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { rolldown } from 'rolldown';

import { luaScripts } from './lua-scripts.mjs';
import { ROOT } from './run.mjs';

const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

/** Packages that the library imports at run time. The code of all other packages becomes part of the bundle. */
const IMPORTED = Object.keys({ ...dependencies, ...peerDependencies });

/** @param {string} id of a module, as it is imported */
export function isImported(id, names = IMPORTED) {
  return names.some((name) => id === name || id.startsWith(`${name}/`));
}

/**
 * Compiles programs together with the parts of the library that they import.
 *
 * @param {Readonly<Record<string, string>>} input the programs' files, by their names in the output
 * @param {import('rolldown').OutputOptions} output
 * @param {readonly string[]} apart packages that stay imports as well, since they are bundled apart
 * @returns {Promise<import('rolldown').RolldownOutput>} what was written
 */
export async function bundle(input, output, apart = []) {
  const imported = [...IMPORTED, ...apart];
  const build = await rolldown({
    input,
    cwd: ROOT,
    platform: 'node',
    tsconfig: join(ROOT, 'tsconfig.build.json'),
    external: (id) => isImported(id, imported),
    plugins: [luaScripts()],
    // Translating the scripts takes a third of a build, which is as it should be.
    checks: { bundlerTimings: false },
  });
  try {
    return await build.write(output);
  } finally {
    await build.close();
  }
}
