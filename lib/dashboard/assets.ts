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

/** Where `npm run build` puts them, as seen from `dist/cjs/chunks` and from `dist/cjs/dashboard`, and from these sources. */
const FOLDERS = ['../../dashboard/', '../../dist/dashboard/'];

/**
 * The files of the browser's side by their paths.
 *
 * @throws ConfigurationError if they are not there, as in an application that is bundled into one file: it would boot without its pages
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
    // A bundle need not know where it is.
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
