import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

/** Words of comments that say neither what a thing is nor what a function does, see `docs/internals/style.md`. */
const UNSAID = /\b([Ww]hoever|so many|is told)\b|^\W*(What|Whom|Under what|To be called)\b/;

const COMMENT = /^\s*(\/\*\*|\*|\/\/|--)/;

it('comments of the library are noun phrases and verbs, in words that one would say', () => {
  const files = readdirSync('lib', { recursive: true, encoding: 'utf8' }).filter((path) =>
    /\.(tsx?|lua|css)$/.test(path),
  );
  const found = files.flatMap((path) =>
    readFileSync(join('lib', path), 'utf8')
      .split('\n')
      .filter((line) => COMMENT.test(line) && UNSAID.test(line))
      .map((line) => `${path}: ${line.trim()}`),
  );
  expect(files.length).toBeGreaterThan(0);
  expect(found).toEqual([]);
});
