import { SeededRandom } from '../support/random.js';
import type { Drill } from './drill.js';
import { type Figures, describe } from './figures.js';
import { groupBy } from '../fleet/faults/history/group-by.js';
import type { Finding } from '../fleet/faults/scene.js';
import { Stage } from './stage.js';

/** What one run of a drill has shown. */
export interface Result {
  readonly drill: string;
  readonly seed: number;
  readonly findings: readonly Finding[];
  readonly figures: Figures | undefined;
  readonly notes: readonly string[];
  /** The output of the processes if something was found. */
  readonly output: string;
}

/** Plays a drill once. Whatever happens, nothing that it started is left. */
export async function play(drill: Drill, times: number, seed: number): Promise<Result> {
  const stage = await Stage.create(new SeededRandom(seed));
  try {
    await drill.run(stage, times);
  } catch (error) {
    stage.findings.push({
      rule: 'broken-off',
      detail: error instanceof Error ? (error.stack ?? error.message) : String(error),
    });
  } finally {
    await stage.close();
  }
  const { findings, figures, notes } = stage;
  return { drill: drill.name, seed, findings, figures, notes, output: findings.length > 0 ? stage.output() : '' };
}

/** A result in words, a line each. */
export function linesOf({ findings, figures, notes }: Result): string[] {
  const lines = [...notes];
  if (figures) {
    const { confirmed, rejected, deliveries, lateness, publishingStopped, handlingStopped, excused } = figures;
    lines.push(
      `${confirmed} confirmed, ${rejected} rejected, ${deliveries} deliveries, ${describe(lateness)}`,
      `publishing stopped for ${publishingStopped.toFixed(0)} ms at most, handling for ${handlingStopped.toFixed(0)} ms`,
    );
    if (excused.size > 0)
      lines.push(`excused by what Redis lost: ${[...excused].map(([rule, count]) => `${rule} ${count}`).join(', ')}`);
  }
  for (const [rule, broken] of groupBy(findings, (finding) => finding.rule)) {
    lines.push(`${rule}: ${broken.length}`, ...broken.slice(0, 3).map(({ detail }) => `  ${detail}`));
  }
  return lines;
}
