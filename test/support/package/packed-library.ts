import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readJson } from './read-json.js';
import { onceARun } from './once-a-run.js';
import { runProgram } from './run-program.js';

/** What `npm publish` would send. */
export interface PackedLibrary {
  /** Path of the tarball. */
  readonly tarball: string;
  /** What is in it, as paths in the package. */
  readonly files: readonly string[];
}

/** Packs the built library. */
export async function packLibrary(): Promise<PackedLibrary> {
  const folder = await onceARun('packed', async (target) => {
    const list = await runProgram('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', target]);
    await writeFile(join(target, 'list.json'), list);
  });
  const [packed] = await readJson<[{ filename: string; files: { path: string }[] }]>(join(folder, 'list.json'));
  return { tarball: join(folder, packed.filename), files: packed.files.map(({ path }) => path) };
}
