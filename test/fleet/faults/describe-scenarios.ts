import { describe, it } from 'vitest';
import { play } from './play.js';
import type { Scenario } from './scenarios/scenario.js';

/** One run of each scenario; `npm run test:faults` plays many. */
const SEED = 2026;

/** Three at a time: each has its own processes and Redis, and mostly waits. */
export function describeScenarios(played: readonly Scenario[]): void {
  describe.concurrent.each(played)('while $shows', (scenario) => {
    it('nothing is lost, early, or run twice at once', async ({ expect }) => {
      const { violations, output, ...figures } = await play(scenario, SEED);
      console.log(JSON.stringify(figures));
      // What was found comes first: the output of the processes is long.
      const found = violations.map(({ rule, detail }) => `${rule}: ${detail}`);
      expect(violations, [...found, output].join('\n')).toEqual([]);
      expect(figures.published).toBeGreaterThan(100);
      expect(figures.deliveries).toBeGreaterThan(100);
    }, 90_000);
  });
}
