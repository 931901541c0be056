import { describe, expect, it } from 'vitest';
import { unexportedTypes } from '../../support/package/public-types.js';
import { readJson } from '../../support/package/read-json.js';

/** The files behind the entries of the package, such as `testing/index.ts`. */
async function entries(): Promise<string[]> {
  const { exports } = await readJson<{ exports: Record<string, unknown> }>('package.json');
  const names = Object.keys(exports).filter((name) => name !== './package.json');
  return names.map((name) => (name === '.' ? 'index.ts' : `${name.slice('./'.length)}/index.ts`));
}

describe('the declarations of all entries', () => {
  it('name no type of the library that is not exported', async () => {
    const files = await entries();
    expect(files).toEqual(expect.arrayContaining(['index.ts', 'testing/index.ts']));
    expect(unexportedTypes(files)).toEqual([]);
  });
});
