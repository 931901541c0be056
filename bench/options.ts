import { parseArgs } from 'node:util';
import type { Figure } from './figures/figure.js';
import { figuresOf } from './figures/index.js';
import { FULL, QUICK } from './sizes.js';

const DEFAULT_RUNS = 3;

/** What to measure. */
export interface BenchOptions {
  readonly figures: readonly Figure[];
  readonly runs: number;
  readonly quick: boolean;
  /** Whether all figures are measured in full size. */
  readonly whole: boolean;
}

/** The command line is wrong; the message says why. */
export class UsageError extends Error {}

/**
 * Reads `--only a,b`, `--runs N` and `--quick`.
 *
 * @throws UsageError
 */
export function parseOptions(args: readonly string[]): BenchOptions {
  const { only, runs = String(DEFAULT_RUNS), quick = false } = parse(args);
  if (!/^[1-9]\d?$/.test(runs)) throw new UsageError(`--runs must be a number from 1 to 99. Given: '${runs}'.`);
  const all = figuresOf(quick ? QUICK : FULL);
  const names = only?.split(',');
  const unknown = names?.find((name) => !all.some((figure) => figure.name === name));
  if (unknown !== undefined) {
    const known = all.map(({ name }) => name).join(', ');
    throw new UsageError(`--only takes names of figures, separated by commas: ${known}. Given: '${unknown}'.`);
  }
  const figures = all.filter(({ name }) => names?.includes(name) ?? true);
  return { figures, runs: Number(runs), quick, whole: !quick && figures.length === all.length };
}

function parse(args: readonly string[]): { only?: string; runs?: string; quick?: boolean } {
  try {
    const options = { only: { type: 'string' }, runs: { type: 'string' }, quick: { type: 'boolean' } } as const;
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error });
  }
}
