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
      expect(violations, output).toEqual([]);
      expect(figures.published).toBeGreaterThan(100);
      expect(figures.deliveries).toBeGreaterThan(100);
    }, 90_000);
  });
}
