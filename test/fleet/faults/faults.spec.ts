import { describe, it } from 'vitest';
import { scenarios } from './scenarios/index.js';
import { play } from './play.js';

/** One run of each scenario; `npm run test:faults` plays many. */
const SEED = 2026;

// Three at a time: each has its own processes and Redis, and mostly waits.
describe.concurrent.each(scenarios.filter(({ long }) => !long))('while $shows', (scenario) => {
  it('nothing is lost, early, or run twice at once', async ({ expect }) => {
    const { violations, output, ...figures } = await play(scenario, SEED);
    console.log(JSON.stringify(figures));
    expect(violations, output).toEqual([]);
    expect(figures.published).toBeGreaterThan(100);
    expect(figures.deliveries).toBeGreaterThan(100);
  }, 90_000);
});
