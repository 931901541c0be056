import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { ROOT } from './run.mjs';

/** What it takes to bundle the library. */
const TAKEN = ['lib', 'tools', 'scripts/setup', 'package.json', 'tsconfig.json', 'tsconfig.build.json'];

/**
 * Unpacks the library as it was.
 *
 * @param {string} revision as git names it
 * @param {string} parent the folder to unpack it in
 * @param {string} entry a file of this revision that is to stand beside it
 * @returns its folder
 * @throws {Error} if git does not know the revision
 */
export function unpackedRevision(revision, parent, entry) {
  const commit = execFileSync('git', ['rev-parse', '--verify', `${revision}^{commit}`], { cwd: ROOT })
    .toString()
    .trim();
  const folder = join(parent, commit);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(dirname(join(folder, entry)), { recursive: true });
  // Older revisions lack some.
  const names = execFileSync('git', ['ls-tree', '--name-only', commit, ...TAKEN], { cwd: ROOT });
  const archive = execFileSync('git', ['archive', commit, ...names.toString().trim().split('\n')], {
    cwd: ROOT,
    maxBuffer: 2 ** 28,
  });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  copyFileSync(join(ROOT, entry), join(folder, entry));
  return folder;
}
