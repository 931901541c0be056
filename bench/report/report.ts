import type { Measure, Sample } from '../figures/figure.js';

/** The machine and the software that were measured. */
export interface Machine {
  readonly cores: number;
  readonly processor: string;
  /** GiB. */
  readonly memory: number;
  readonly system: string;
  readonly node: string;
  readonly redis: string;
  /** Version by name of the package. */
  readonly packages: Readonly<Record<string, string>>;
  /** Abbreviated hash of the commit that was checked out, where that is known. */
  readonly commit?: string;
  /** Processes that wanted to run when the benchmark began, on the average of a minute; near 0 where it had the machine to itself. */
  readonly load: number;
}

/** What came of one trial. */
export interface TrialReport {
  readonly subject: string;
  readonly variant?: string;
  /** One a run; `null` where that run failed. */
  readonly runs: readonly (Sample | null)[];
  /** Why the last run that failed did. */
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

/** All that the benchmark has to tell: raw samples, from which everything that is shown is computed. */
export interface Report {
  readonly date: string;
  readonly runs: number;
  /** Quick: too small to mean anything. */
  readonly quick: boolean;
  readonly machine: Machine;
  readonly figures: readonly FigureReport[];
}
