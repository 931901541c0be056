import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { VERSION } from '../../../lib/version.js';

it('is the version in package.json', async () => {
  expect(JSON.parse(await readFile('package.json', 'utf8'))).toHaveProperty('version', VERSION);
});
