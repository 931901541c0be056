import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { readDocument, section } from '../support/docs/markdown.js';

interface Mutation {
  readonly guard: string;
  /** As seen from lib. */
  readonly file: string;
  /** The code that is replaced. */
  readonly find: string;
  readonly scenario?: string;
  readonly spec?: string;
}

// In a variable, since a script without types is imported.
const MUTATIONS = '../fleet/faults/mutations/index.mjs';
const { mutations } = (await import(MUTATIONS)) as { mutations: readonly Mutation[] };

it('the guide to reliability names each guard that is switched off, and what notices', () => {
  const [, , ...rows] = section(readDocument('docs/guides/reliability.md'), 'Each guard is needed')
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| |\s*\|$/g, '').trim()));

  expect(rows.map(([guard, notices]) => [guard, notices])).toEqual(
    mutations.map(({ guard, scenario, spec }) => [guard, `\`${scenario ?? spec}\``]),
  );
});

it.each(mutations)('each is in the code where it is switched off: $guard', ({ file, find }) => {
  expect(readFileSync(`lib/${file}`, 'utf8').split(find)).toHaveLength(2);
});
