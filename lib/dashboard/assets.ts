import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

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

/** Where `npm run build` puts them, as seen from `dist/cjs/chunks` and from `dist/cjs/dashboard`. */
const FOLDER = '../../dashboard/';

/** The files of the browser's side by their paths, read once; none if they were not built. */
export function readAssets(folder = fileURLToPath(new URL(FOLDER, import.meta.url))): ReadonlyMap<string, Asset> {
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
