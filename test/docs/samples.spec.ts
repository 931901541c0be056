import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readDocument, section, table } from '../support/docs/markdown.js';

const samples = readdirSync('sample').toSorted();

describe('the samples', () => {
  it('are all in the README', () => {
    const rows = table(section(readDocument('README.md'), 'Samples'), 'sample');
    expect([...rows.keys()]).toEqual(samples);
  });

  it.each(samples)('say what to look at, and where it is: %s', (sample) => {
    const readme = readDocument(join('sample', sample, 'README.md'));
    const files = [...table(readme, 'look at').keys()];
    expect(files.length).toBeGreaterThan(0);
    expect(files.filter((file) => !existsSync(join('sample', sample, file)))).toEqual([]);
  });
});
