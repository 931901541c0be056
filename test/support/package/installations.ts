import { cp, mkdir, readdir, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { onceARun } from './once-a-run.js';
import { packLibrary } from './packed-library.js';
import { runProgram } from './run-program.js';

/** The packed library, laid out as `npm install` would, among the packages of this repository, which are those of Nest 12. */
export async function installOnNest12(): Promise<string> {
  const { tarball } = await packLibrary();
  return onceARun('nest-12', async (folder) => {
    const modules = join(folder, 'node_modules');
    await mkdir(modules);
    await runProgram('tar', ['-xzf', tarball], { cwd: folder });
    await cp(join(folder, 'package'), join(modules, 'nestjs-delay-queue'), { recursive: true });
    for (const name of await readdir('node_modules')) {
      if (!name.startsWith('.')) await symlink(resolve('node_modules', name), join(modules, name));
    }
  });
}
