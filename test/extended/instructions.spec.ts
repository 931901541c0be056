import { resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type * as InstructionsFile from '../../bench/figures/instructions.js';
import { OURS } from '../../bench/figures/figure.js';
import { buildBench } from '../../scripts/setup/build.mjs';

/** Enough for figures that change by a twentieth at most from run to run. */
const COUNTED = 200;

/**
 * Most instructions of Redis a message, as a multiple of those of a script that only takes and deletes as many: an eighth more than when
 * they were counted. Another version of Redis, or another compiler, changes both.
 */
const MOST: Readonly<Record<string, readonly [handled: number, published: number]>> = {
  'plain, 100 at once': [3.4, 0.58],
  'pulled, 100 at once': [6.2, 0.58],
  'ordered, 100 at once': [7, 2.2],
  'tagged, 100 at once': [5.5, 1.55],
  'limited in flight by key, 100 at once': [7.8, 0.75],
  'limited rate by key, 100 at once': [13.6, 0.75],
  'kept when finished, 100 at once': [10.8, 0.58],
  'plain, 1 at once': [7.3, 3.9],
  'pulled, 1 at once': [10.4, 3.8],
  'ordered, 1 at once': [11.5, 8.8],
  'tagged, 1 at once': [8.4, 6],
  'limited in flight by key, 1 at once': [13.1, 4.4],
  'limited rate by key, 1 at once': [14.8, 4.4],
  'kept when finished, 1 at once': [13.9, 3.8],
};

describe('Redis needs no more instructions a message than it did', () => {
  let costs: Map<string, Readonly<Record<string, number>>>;
  let least: string;

  beforeAll(async () => {
    const compiled = resolve(await buildBench(), '../figures/instructions.js');
    const { LEAST, countedSubjects } = (await import(compiled)) as typeof InstructionsFile;
    costs = new Map();
    for (const { subject, measure } of countedSubjects(COUNTED)) costs.set(subject, await measure());
    least = LEAST;
  }, 600_000);

  it.each(Object.entries(MOST))('%s', (subject, [handled, published]) => {
    const [, count] = /, (\d+ at once)$/.exec(subject) ?? [];
    const [own, unit] = [costs.get(`${OURS}, ${subject}`), costs.get(`${least}, ${count}`)];
    expect(own?.['handled']).toBeLessThan(handled * (unit?.['handled'] ?? NaN));
    expect(own?.['published']).toBeLessThan(published * (unit?.['published'] ?? NaN));
  });
});
