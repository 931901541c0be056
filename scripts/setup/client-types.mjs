import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { bundle } from './bundle.mjs';
import { goTypes } from './client-types/go.mjs';
import { phpTypes } from './client-types/php.mjs';
import { pythonTypes } from './client-types/python.mjs';
import { Schemas } from './client-types/schemas.mjs';
import { ROOT } from './run.mjs';

/** Writes the types of the clients anew where they are not what the gateway's document says. */
export async function writeClientTypes() {
  for (const [path, text] of clientTypes(await gatewayDocument())) {
    const file = join(ROOT, path);
    if (!existsSync(file) || readFileSync(file, 'utf8') !== text) writeFileSync(file, text);
  }
}

/** Makes of the gateway's `openapi.json` what the clients declare of it, with its descriptions. */
export function clientTypes(document) {
  const schemas = new Schemas(document.components.schemas);
  return new Map([...pythonTypes(schemas), ...phpTypes(schemas), ...goTypes(schemas)]);
}

/** The document of the sources as they are, compiled for that alone: those of `dist` may be older. */
async function gatewayDocument() {
  const folder = mkdtempSync(join(ROOT, 'node_modules', '.gateway-document-'));
  try {
    await bundle(
      { openapi: 'lib/gateway/openapi.ts', routes: 'lib/gateway/routes.ts' },
      { dir: folder, format: 'esm' },
    );
    const [{ openApiDocument }, { ROUTES }] = await Promise.all(
      ['openapi.js', 'routes.js'].map((file) => import(pathToFileURL(join(folder, file)).href)),
    );
    return openApiDocument(ROUTES, { tokens: false });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
