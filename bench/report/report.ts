import type { Measure, Sample } from '../figures/figure.js';

/** The machine and the software of a run. */
export interface Machine {
  readonly cores: number;
  readonly processor: string;
  /** GiB. */
  readonly memory: number;
  readonly system: string;
  readonly node: string;
  readonly redis: string;
  /** Versions by package name. */
  readonly packages: Readonly<Record<string, string>>;
  /** Abbreviated hash of the commit that was checked out, if known. */
  readonly commit?: string;
  /** Load average of one minute when the benchmark began; near 0 if it had the machine to itself. */
  readonly load: number;
}

/** The results of one trial. */
export interface TrialReport {
  readonly subject: string;
  readonly variant?: string;
  /** One per run; `null` if the run failed. */
  readonly runs: readonly (Sample | null)[];
  /** Why the last failed run failed. */
  readonly failure?: string;
}

export interface FigureReport {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly measures: readonly Measure[];
  readonly baseline?: string;
  readonly trials: readonly TrialReport[];
}

/** The result of the benchmark: raw samples, from which tables and charts are computed. */
export interface Report {
  readonly date: string;
  readonly runs: number;
  /** Set if the run was too small to mean anything. */
  readonly quick: boolean;
  readonly machine: Machine;
  readonly figures: readonly FigureReport[];
}
