import type { Figure, Sample, Trial } from '../figures/figure.js';
import type { FigureReport, TrialReport } from '../report/report.js';
import type { Bench } from './bench.js';

/** Called with each sample, or with the reason why there is none. */
export type OnSample = (figure: Figure, trial: Trial, run: number, sample: Sample | Error) => void;

/** Measures each trial of a figure once, then each once more, so that a machine that slows down affects all alike. */
export async function measureInAlternation(
  figure: Figure,
  bench: Bench,
  runs: number,
  onSample: OnSample,
): Promise<FigureReport> {
  const samples = new Map<Trial, (Sample | Error)[]>(figure.trials.map((trial) => [trial, []]));
  for (let run = 1; run <= runs; run++) {
    for (const [trial, ofTrial] of samples) {
      const sample = await bench.measure(() => trial.measure(bench)).catch((error: unknown) => toError(error));
      ofTrial.push(sample);
      onSample(figure, trial, run, sample);
    }
  }
  return { ...figure, trials: Array.from(samples, ([trial, ofTrial]) => toReport(trial, ofTrial)) };
}

function toReport({ subject, variant }: Trial, samples: readonly (Sample | Error)[]): TrialReport {
  const failure = samples.findLast((sample) => sample instanceof Error)?.message;
  return {
    subject,
    ...(variant === undefined ? {} : { variant }),
    runs: samples.map((sample) => (sample instanceof Error ? null : sample)),
    // The other lines have paths and the output of a process.
    ...(failure === undefined ? {} : { failure: failure.split('\n', 1).join() }),
  };
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
