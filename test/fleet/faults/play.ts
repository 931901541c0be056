import { check } from './history/checker.js';
import type { History } from './history/records.js';
import type { Scenario } from './scenarios/scenario.js';
import type { Finding } from './scene.js';
import { SeededRandom } from '../../support/random.js';
import { World } from './world.js';

/** The result of one run of a scenario. */
export interface Result {
  readonly scenario: string;
  readonly seed: number;
  readonly published: number;
  readonly rejected: number;
  readonly deliveries: number;
  readonly stale: number;
  /** The greatest lateness of a first delivery, in milliseconds. */
  readonly latest: number;
  readonly faults: number;
  readonly violations: readonly Finding[];
  /** The output of the processes if promises were broken. */
  readonly output: string;
}

/** Plays a scenario once and checks its whole history. */
export async function play(scenario: Scenario, seed: number): Promise<Result> {
  const world = await World.create(new SeededRandom(seed), scenario.server);
  world.ordered = scenario.ordered ?? false;
  world.limits = scenario.limits ?? {};
  try {
    await scenario.run(world);
    const history = await world.finish();
    const count = (kind: string): number => history.records.filter((record) => record.kind === kind).length;
    const violations = [
      ...world.findings,
      ...check(history),
      ...checkLateness(scenario, history),
      ...checkConfirmations(scenario, history),
    ];
    return {
      scenario: scenario.name,
      seed,
      published: count('publish-confirmed'),
      rejected: count('publish-failed'),
      deliveries: count('delivery-started'),
      stale: history.records.filter((record) => record.kind === 'settled' && record.outcome === 'stale').length,
      latest: Math.max(0, ...firstLateness(history)),
      faults: history.faults.length,
      violations,
      output: violations.length > 0 ? world.output() : '',
    };
  } finally {
    await world.close();
  }
}

/** How late each message was handed out for the first time, in milliseconds. */
function firstLateness({ records }: History): number[] {
  return records.flatMap((record) =>
    record.kind === 'delivery-started' && record.attempt === 1 ? [record.at - record.dueAt] : [],
  );
}

function checkLateness({ maxLateness }: Scenario, history: History): Finding[] {
  if (maxLateness === undefined) return [];
  const late = firstLateness(history).filter((lateness) => lateness > maxLateness);
  return late.length === 0
    ? []
    : [
        {
          rule: 'late',
          detail: `${late.length} messages were up to ${Math.max(...late)} ms late, ${maxLateness} ms are allowed`,
        },
      ];
}

function checkConfirmations({ confirmsAll }: Scenario, { records }: History): Finding[] {
  if (!confirmsAll) return [];
  return records.flatMap((record) =>
    record.kind === 'publish-failed' ? [{ rule: 'rejected', detail: `${record.id}: ${record.code}` }] : [],
  );
}
