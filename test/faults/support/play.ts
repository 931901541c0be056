import { type Violation, check } from '../history/checker.js';
import type { Scenario } from '../scenarios/scenario.js';
import { Random } from './random.js';
import { World } from './world.js';

/** What one run of a scenario came to. */
export interface Result {
  readonly scenario: string;
  readonly seed: number;
  readonly published: number;
  readonly rejected: number;
  readonly deliveries: number;
  readonly stale: number;
  readonly faults: number;
  readonly violations: readonly Violation[];
  /** What the processes wrote, where promises were broken. */
  readonly output: string;
}

/** Plays a scenario once and checks its whole history. */
export async function play(scenario: Scenario, seed: number): Promise<Result> {
  const world = await World.create(new Random(seed));
  try {
    await scenario.run(world);
    const history = await world.finish();
    const count = (kind: string): number => history.records.filter((record) => record.kind === kind).length;
    const violations = check(history);
    return {
      scenario: scenario.name,
      seed,
      published: count('publish-confirmed'),
      rejected: count('publish-failed'),
      deliveries: count('delivery-started'),
      stale: history.records.filter((record) => record.kind === 'settled' && record.outcome === 'stale').length,
      faults: history.faults.length,
      violations,
      output: violations.length > 0 ? world.output() : '',
    };
  } finally {
    await world.close();
  }
}
