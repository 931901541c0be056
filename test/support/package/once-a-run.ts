import { existsSync } from 'node:fs';
import { mkdtemp, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { inject } from 'vitest';

/**
 * A folder that several specs use, filled by the first that asks for it. Two that ask at the same time may both fill one, and then the first
 * that is ready serves both.
 */
export async function onceARun(name: string, fill: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(inject('runFolder'), name);
  if (existsSync(folder)) return folder;
  // What could not be filled has another name, and the next who asks begins anew.
  const unfinished = await mkdtemp(`${folder}-`);
  await fill(unfinished);
  await rename(unfinished, folder).catch((error: unknown) => {
    if (!existsSync(folder)) throw error;
  });
  return folder;
}
