import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ConfigurationError } from '../errors/options.errors.js';

/** A file that the browser loads. */
export interface Asset {
  readonly type: string;
  readonly content: Buffer;
}

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

/** The page itself; it finds everything else beside it. */
export const PAGE = 'index.html';

/** Folders in which `npm run build` puts them, relative to `dist/cjs/chunks` and `dist/cjs/dashboard`, and to these sources. */
const FOLDERS = ['../../dashboard/', '../../dist/dashboard/'];

/**
 * Reads the files for the browser, by their paths.
 *
 * @throws ConfigurationError if they are missing, as in an application that is bundled into one file: it would boot without its pages
 */
export function readAssets(folders: readonly string[] = foldersOfPackage()): ReadonlyMap<string, Asset> {
  for (const folder of folders) {
    const assets = assetsIn(folder);
    if (assets.has(PAGE)) return assets;
  }
  throw new ConfigurationError(
    'The pages of the dashboard are not beside its code. They are files of the package: if your application is bundled into one ' +
      "file, keep 'nestjs-delay-queue' external, so that it is loaded from node_modules.",
  );
}

function foldersOfPackage(): string[] {
  try {
    return FOLDERS.map((folder) => fileURLToPath(new URL(folder, import.meta.url)));
  } catch {
    // A bundle may not know where it is.
    return [];
  }
}

function assetsIn(folder: string): Map<string, Asset> {
  const assets = new Map<string, Asset>();
  for (const name of filesOf(folder)) {
    const type = TYPES[name.slice(name.lastIndexOf('.') + 1)];
    if (type !== undefined) assets.set(name, { type, content: readFileSync(join(folder, name)) });
  }
  return assets;
}

function filesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
