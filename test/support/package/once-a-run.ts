import { existsSync } from 'node:fs';
import { mkdtemp, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { inject } from 'vitest';

/**
 * A folder that several specs use, filled by the first that asks for it. The specs of this project run one after another, so
 * none has to wait for another's.
 */
export async function onceARun(name: string, fill: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(inject('runFolder'), name);
  if (existsSync(folder)) return folder;
  // What could not be filled has another name, and the next who asks begins anew.
  const unfinished = await mkdtemp(`${folder}-`);
  await fill(unfinished);
  await rename(unfinished, folder);
  return folder;
}
