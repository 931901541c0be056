import { expect, it } from 'vitest';
import { movedPrimary } from '../fleet/faults/scenarios/redis-scenarios.js';
import { play } from '../fleet/faults/play.js';

const TIMES = 10;
const SEED = 15;

it('the primary moves ten times behind one address: nothing stands still for 2 s, and nothing is lost', async () => {
  const { violations, output, ...figures } = await play(movedPrimary(TIMES), SEED);
  console.log(JSON.stringify(figures));
  expect(violations, output).toEqual([]);
  expect(figures.faults).toBe(TIMES);
  // 500 per second, and 2 s between two failovers.
  expect(figures.published).toBeGreaterThan(TIMES * 500);
}, 180_000);
