import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openApiDocument } from '../../lib/gateway/openapi.js';
import { ROUTES } from '../../lib/gateway/routes.js';
import { clientTypes } from '../../scripts/setup/client-types.mjs';

describe('the types of the clients', () => {
  const files = [...clientTypes(openApiDocument(ROUTES, { tokens: false }))];

  it.each(files)('%s is what the document of the gateway says; `npm run build` writes it anew', (path, text) => {
    expect(readFileSync(path, 'utf8')).toBe(text);
  });
});
