import type { Measure, Sample } from '../figures/figure.js';
import type { FigureReport, TrialReport } from './report.js';

/** A measure of one subject, over all runs. */
export interface Cell {
  readonly median: number;
  readonly least: number;
  readonly most: number;
  /** The ratio to the baseline; see {@link ratioOf}. */
  readonly ratio: number | undefined;
}

/** A subject with its best variant. */
export interface Row {
  readonly subject: string;
  readonly variant: string | undefined;
  /** By the key of the measure; empty if no run finished. */
  readonly cells: ReadonlyMap<string, Cell>;
  /** One per run; `null` if the run failed. */
  readonly runs: TrialReport['runs'];
}

/** One row per subject, in the order of the trials. */
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

/**
 * The median of the ratios between two subjects. Each ratio is of one run: trials of one run follow each other, so the machine
 * was in the same state, and a quarter of an hour later it may be in another.
 *
 * @returns `undefined` if there is no run that both finished, or the divisor is 0
 */
export function ratioOf(own: Pick<Row, 'runs'>, other: Pick<Row, 'runs'>, key: string): number | undefined {
  const ratio = median(
    own.runs
      .map((run, i) => (run?.[key] ?? NaN) / (other.runs[i]?.[key] ?? NaN))
      .filter((value) => Number.isFinite(value)),
  );
  return Number.isNaN(ratio) ? undefined : ratio;
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
    cells.set(key, {
      median: median(values),
      least: Math.min(...values),
      most: Math.max(...values),
      ratio: baseline && ratioOf(trial, baseline, key),
    });
  }
  return { subject: trial.subject, variant: trial.variant, cells, runs: trial.runs };
}

function valuesOf(trial: TrialReport, key: string): number[] {
  return trial.runs
    .filter((run): run is Sample => run !== null)
    .map((run) => run[key])
    .filter((value) => value !== undefined);
}

/** NaN if there are none. */
function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [lower = NaN, upper = NaN] = [sorted[sorted.length - 1 - middle], sorted[middle]];
  return (lower + upper) / 2;
}
