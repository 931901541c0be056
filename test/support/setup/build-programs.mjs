import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { ensureLibraryBuilt } from '../../../scripts/setup/build.mjs';
import { localBin, runQuietly } from '../../../scripts/setup/run.mjs';

const SOURCES = ['test/fleet', 'test/drills', 'test/support'];

/** Compiles the programs that tests run as processes, against the built library; does nothing where that was done. */
export async function setup() {
  await ensureLibraryBuilt();
  const newestSource = Math.max(...SOURCES.map((folder) => newest(folder, /\.ts$/)));
  if (newestSource > newest('dist-test', /\.js$/)) {
    await runQuietly(localBin('tsc'), ['--project', 'test/tsconfig.programs.json']);
  }
}

function newest(folder, pattern) {
  if (!existsSync(folder)) return 0;
  const files = readdirSync(folder, { recursive: true }).filter((file) => pattern.test(file));
  return Math.max(0, ...files.map((file) => statSync(join(folder, file)).mtimeMs));
}
