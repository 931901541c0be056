import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { ensureLibraryBuilt } from '../../scripts/setup/build.mjs';
import { localBin, runQuietly } from '../../scripts/setup/run.mjs';

/** Vitest's global set-up: the programs that tests run as processes are compiled against the built library. */
export async function setup() {
  await ensureLibraryBuilt();
  if (newest('test/fleet', /\.ts$/) > newest('dist-fleet', /\.js$/)) {
    await runQuietly(localBin('tsc'), ['--project', 'test/fleet']);
  }
}

function newest(folder, pattern) {
  if (!existsSync(folder)) return 0;
  const files = readdirSync(folder, { recursive: true }).filter((file) => pattern.test(file));
  return Math.max(0, ...files.map((file) => statSync(join(folder, file)).mtimeMs));
}
