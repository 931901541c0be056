import type { Measure, Sample } from '../figures/figure.js';
import type { FigureReport, TrialReport } from './report.js';

/** A measure of one subject, over all runs. */
export interface Cell {
  readonly median: number;
  readonly least: number;
  readonly most: number;
  /** The median divided by the baseline's; `undefined` where that is 0 or missing. */
  readonly ratio: number | undefined;
}

/** A subject with its best variant. */
export interface Row {
  readonly subject: string;
  readonly variant: string | undefined;
  /** By the key of the measure; empty where no run came to an end. */
  readonly cells: ReadonlyMap<string, Cell>;
  /** Runs that did not come to an end. */
  readonly failures: number;
}

/** One row a subject, in the order of the trials. */
export function rowsOf(figure: FigureReport): Row[] {
  const [primary] = figure.measures;
  if (!primary) return [];
  const subjects = [...new Set(figure.trials.map(({ subject }) => subject))];
  const best = subjects.map((subject) =>
    figure.trials
      .filter((trial) => trial.subject === subject)
      .reduce((a, b) => (rank(b, primary) > rank(a, primary) ? b : a)),
  );
  const baseline = best.find(({ subject }) => subject === (figure.baseline ?? best[0]?.subject));
  return best.map((trial) => toRow(trial, figure.measures, baseline));
}

/** Higher for a better trial. */
function rank(trial: TrialReport, { key, better }: Measure): number {
  const value = median(valuesOf(trial, key));
  if (Number.isNaN(value)) return -Infinity;
  return better === 'more' ? value : -value;
}

function toRow(trial: TrialReport, measures: readonly Measure[], baseline: TrialReport | undefined): Row {
  const cells = new Map<string, Cell>();
  for (const { key } of measures) {
    const values = valuesOf(trial, key);
    if (values.length === 0) continue;
    const own = median(values);
    const ratio = own / median(baseline ? valuesOf(baseline, key) : []);
    cells.set(key, {
      median: own,
      least: Math.min(...values),
      most: Math.max(...values),
      ratio: Number.isFinite(ratio) ? ratio : undefined,
    });
  }
  const failures = trial.runs.filter((run) => run === null).length;
  return { subject: trial.subject, variant: trial.variant, cells, failures };
}

function valuesOf(trial: TrialReport, key: string): number[] {
  return trial.runs
    .filter((run): run is Sample => run !== null)
    .map((run) => run[key])
    .filter((value) => value !== undefined);
}

/** NaN where there are none. */
function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [lower = NaN, upper = NaN] = [sorted[sorted.length - 1 - middle], sorted[middle]];
  return (lower + upper) / 2;
}
