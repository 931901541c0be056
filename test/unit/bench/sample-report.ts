import type { Sample } from '../../../bench/figures/figure.js';
import { figuresOf } from '../../../bench/figures/index.js';
import type { FigureReport, Report } from '../../../bench/report/report.js';
import { FULL } from '../../../bench/sizes.js';

/** Samples of one run each, by `subject` or `subject, variant`; a subject that is left out has none. */
type Samples = Readonly<Record<string, readonly (Sample | null)[]>>;

/** The report of a figure with these samples. */
export function figureReport(name: string, samples: Samples): FigureReport {
  const figure = figuresOf(FULL).find((candidate) => candidate.name === name);
  if (!figure) throw new Error(`There is no figure '${name}'.`);
  const trials = figure.trials.flatMap(({ subject, variant }) => {
    const runs = samples[variant === undefined ? subject : `${subject}, ${variant}`];
    return runs ? [{ subject, runs, ...(variant === undefined ? {} : { variant }) }] : [];
  });
  return { ...figure, trials };
}

export function reportOf(...figures: FigureReport[]): Report {
  return {
    date: '2026-01-02T03:04:05.678Z',
    runs: 3,
    quick: false,
    machine: {
      cores: 2,
      processor: 'Some processor',
      memory: 4,
      system: 'Linux',
      node: 'v20.19.0',
      redis: 'redis 7.0.0',
      packages: { 'nestjs-delay-queue': '0.1.0' },
      load: 0.1,
    },
    figures,
  };
}
